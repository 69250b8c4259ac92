// What --help and a wrong command line say.
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cudart_doctor/app/options.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;

namespace {

std::variant<Options, Immediate> parsed(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "cudart-doctor");
  return parse_options(static_cast<int>(arguments.size()), arguments.data());
}

std::string told(const std::vector<const char*>& arguments) {
  const auto result = parsed(arguments);
  const auto* const immediate = std::get_if<Immediate>(&result);
  return immediate == nullptr ? "" : immediate->text;
}

/// Every long option that has a line of its own in the program's --help.
std::set<std::string> long_options(const std::string& text) {
  std::set<std::string> out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  -")) continue;
    // Behind the column of names there are only sentences.
    std::istringstream words(line.substr(0, 29));
    for (std::string word; words >> word;) {
      const std::size_t begin = word.find("--");
      if (begin == std::string::npos) continue;
      out.insert(word.substr(begin, word.find_first_of(",[", begin) - begin));
    }
  }
  return out;
}

}  // namespace

TEST_CASE("no line of any help is wider than 80 columns") {
  for (const auto& command : std::vector<std::vector<const char*>>{{"--help"},
                                                                   {"run", "--help"},
                                                                   {"snapshot", "--help"},
                                                                   {"policies", "--help"},
                                                                   {"explain", "--help"},
                                                                   {"diff", "--help"}}) {
    INFO(command.front());
    std::istringstream lines(told(command));
    std::size_t count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
      INFO(line);
      CHECK(line.size() <= 80);
    }
    CHECK(count > 5);
  }
}

TEST_CASE("run names each option of the program in its help, or refuses it") {
  const std::string help = told({"run", "--help"});
  for (const char* const option :
       {"--ready-when", "--then", "--gate", "--judge-exit", "--record", "--no-ptrace", "-- CMD"}) {
    CHECK(help.find(option) != std::string::npos);
  }
  const std::set<std::string> names = long_options(help);
  const std::set<std::string> options = long_options(told({"--help"}));
  CHECK(options.size() > 20);
  for (const std::string& option : options) {
    if (option == "--help" || option == "--version") continue;
    INFO(option);
    // One of the values is right for every option that run could refuse.
    bool refused = false;
    for (const std::string& value : {std::string(), std::string("=1"), std::string("=none"),
                                     std::string("=off"), std::string("=npd")}) {
      const std::string given = option + value;
      refused |= told({"run", given.c_str(), "--", "true"}).starts_with("run: " + option + ": ");
    }
    CHECK(names.contains(option) != refused);
  }
}

TEST_CASE("a wrong command line is told what to write") {
  struct Row {
    std::vector<const char*> arguments;
    const char* message;
  };
  for (const Row& row :
       {Row{{"--pid"}, "--pid: its value is missing: --pid PID\n"},
        Row{{"--fail-on"}, "--fail-on: its value is missing: --fail-on info|warning|error"},
        Row{{"--pid", "1", "--pid", "2"},
            "--pid is given more than once and takes one value: --pid PID\n"},
        Row{{"snapshot"}, "snapshot: --dir DIR is missing: cudart-doctor snapshot --dir DIR\n"},
        Row{{"diff"}, "diff: A B... is missing: cudart-doctor diff A B...\n"},
        Row{{"diff", "a"}, "one is too few for a comparison: cudart-doctor diff A B...\n"},
        Row{{"--bogus=1"}, "--bogus=1: no such option\n"},
        Row{{"--json=x"}, "--json takes no value\n"},
        Row{{"python", "x"}, "to start a command: cudart-doctor run -- python\n"},
        Row{{"--gate", "--", "python"}, "--gate belongs to run: cudart-doctor run"},
        Row{{"--", "python", "x"}, "-- belongs to run: cudart-doctor run"},
        Row{{"explain", "RT04", "b\x1b"}, "explain: b\\x1b was not expected\n"}}) {
    const std::string text = told(row.arguments);
    INFO(text);
    CHECK(text.find(row.message) != std::string::npos);
    CHECK(text.find("\nRun with --help") != std::string::npos);
  }
}
