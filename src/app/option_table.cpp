#include "cudart_doctor/app/option_table.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <variant>

#include "cudart_doctor/analyze/catalogue.hpp"
#include "cudart_doctor/analyze/diff.hpp"
#include "cudart_doctor/analyze/policy.hpp"
#include "cudart_doctor/app/options.hpp"
#include "cudart_doctor/app/ready.hpp"
#include "cudart_doctor/base/text.hpp"
#include "option_words.hpp"
#include "options_parser.hpp"

namespace cudart_doctor {
namespace {

std::vector<OfferedList> offered_lists() {
  OfferedList policy{.id = "policy", .words = {}};
  for (const Policy& each : policies()) {
    policy.words.push_back({std::string(each.id), std::string(each.title)});
  }
  OfferedList finding{.id = "finding", .words = {}};
  for (const CatalogueEntry& each : catalogue()) {
    finding.words.push_back({std::string(each.id), std::string(each.slug)});
    finding.words.push_back({std::string(each.slug), std::string(each.id)});
  }
  OfferedList area{.id = "area", .words = {}};
  for (int i = 0; i <= int(Area::namespaces); ++i) {
    area.words.push_back({std::string(name_of(static_cast<Area>(i))), ""});
  }
  OfferedList condition{.id = "condition", .words = {}};
  for (std::string& each : ready_beginnings()) condition.words.push_back({std::move(each), ""});
  OfferedList rule = policy;
  rule.id = "rule";
  rule.words.push_back({"all", "every rule"});
  OfferedList subject = finding;
  subject.id = "subject";
  subject.words.push_back({"-", "a log on stdin"});
  return {std::move(policy),  std::move(rule), std::move(finding),
          std::move(subject), std::move(area), std::move(condition)};
}

/// What placeholders of --help mean wherever they stand.
constexpr std::array<std::pair<std::string_view, ValueKind>, 5> kPlaceholders = {{
    {"PID", ValueKind::process},
    {"DIR", ValueKind::directory},
    {"FILE", ValueKind::file},
    {"LIB", ValueKind::file},
    {"EXE", ValueKind::file},
}};

/// The parts of "all|N,..." that are words, not placeholders: those in small letters.
std::vector<std::string> words_in(std::string_view alternatives) {
  std::vector<std::string> out;
  if (alternatives.find('|') == std::string_view::npos) return out;
  for (const std::string_view part : split(alternatives, '|')) {
    const bool plain = std::ranges::all_of(
        part, [](char c) { return c == '-' || std::islower(static_cast<unsigned char>(c)) != 0; });
    if (plain && part.size() > 1) out.emplace_back(part);
  }
  return out;
}

/// What offers() says of this option; "" where it says nothing.
std::string offered(CLI::Option& option) {
  for (int i = 0;; ++i) {
    try {
      const std::string& name = option.get_validator(i)->get_name();
      if (!name.empty()) return name;
    } catch (const CLI::OptionNotFound&) {
      return {};
    }
  }
}

void find_kind(OptionRow& row, CLI::Option& option) {
  const std::string offer = offered(option);
  row.words = words_in(offer.empty() ? row.placeholder : offer);
  if (row.placeholder.empty()) return;
  if (!row.words.empty()) {
    row.kind = ValueKind::words;
    return;
  }
  const auto* const known = std::ranges::find_if(
      kPlaceholders, [&row](const auto& each) { return each.first == row.placeholder; });
  if (offer == "file") {
    row.kind = ValueKind::file;
  } else if (!offer.empty()) {
    row.kind = ValueKind::list;
    row.list = offer;
  } else {
    row.kind = known == kPlaceholders.end() ? ValueKind::text : known->second;
  }
}

OptionRow row_of(CLI::Option& option) {
  OptionRow row;
  if (!option.get_positional()) {
    for (const std::string& name : option.get_snames()) row.names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) row.names.push_back("--" + name);
  }
  row.placeholder = value_name(option);
  row.text = option.get_description();
  row.required = option.get_required();
  row.value_optional = row.placeholder.starts_with('[');
  if (row.value_optional) row.placeholder = row.placeholder.substr(1, row.placeholder.size() - 2);
  row.repeatable = !row.placeholder.empty() && option.get_items_expected_max() > 1;
  find_kind(row, option);
  return row;
}

/// --help and --version too.
std::vector<OptionRow> rows_of(CLI::App& app) {
  std::vector<OptionRow> out;
  for (CLI::Option* const option : app.get_options([](CLI::Option*) { return true; })) {
    out.push_back(row_of(*option));
  }
  return out;
}

/// A value that the option takes.
std::string sample_of(const OptionRow& option, const std::vector<OfferedList>& lists) {
  if (option.kind == ValueKind::none) return {};
  if (option.kind == ValueKind::words) return option.words.front();
  const auto list = std::ranges::find(lists, option.list, &OfferedList::id);
  if (list == lists.end()) return "1";
  const std::string& word = list->words.front().word;
  return word.ends_with(':') ? word + "1" : word;
}

bool is_taken(std::vector<std::string> words) {
  std::vector<const char*> line = {"cudart-doctor"};
  for (const std::string& word : words) line.push_back(word.c_str());
  return std::holds_alternative<Options>(parse_options(static_cast<int>(line.size()), line.data()));
}

/// Shortest lines of one subcommand; an option belongs to it where one of them takes it.
class Trial {
 public:
  Trial(const CommandRow& command, const std::vector<OfferedList>& lists) {
    std::vector<std::string> least = {command.name};
    std::vector<std::string> arguments;
    for (const OptionRow& option : command.options) {
      if (option.names.empty()) arguments.assign(2, sample_of(option, lists));
      if (!option.required) continue;
      if (option.names.empty()) {
        least.insert(least.end(), 2, sample_of(option, lists));
      } else {
        least.insert(least.end(), {option.names.back(), sample_of(option, lists)});
      }
    }
    lines_ = {least};
    if (!arguments.empty()) {
      lines_.push_back(least);
      lines_.back().push_back(arguments.front());
    }
    for (std::size_t i = 0, count = lines_.size(); i < count; ++i) {
      lines_.push_back(lines_[i]);
      lines_.back().insert(lines_.back().end(), {"--pid", "1"});
    }
    behind_ = command.usage.find(" -- ") == std::string::npos
                  ? std::vector<std::string>()
                  : std::vector<std::string>{"--", "true"};
  }

  [[nodiscard]] bool takes(const OptionRow& option, const std::string& value) const {
    return std::ranges::any_of(lines_, [&](std::vector<std::string> line) {
      line.push_back(option.names.back());
      if (!value.empty()) line.push_back(value);
      line.insert(line.end(), behind_.begin(), behind_.end());
      return is_taken(std::move(line));
    });
  }

 private:
  std::vector<std::vector<std::string>> lines_;
  std::vector<std::string> behind_;
};

std::vector<OptionRow> shared_options(const CommandRow& command, const CommandRow& program,
                                      const std::vector<OfferedList>& lists) {
  const Trial trial(command, lists);
  std::vector<OptionRow> out;
  for (OptionRow option : program.options) {
    if (option.kind == ValueKind::words) {
      std::erase_if(option.words,
                    [&](const std::string& word) { return !trial.takes(option, word); });
      if (!option.words.empty()) out.push_back(std::move(option));
    } else if (trial.takes(option, sample_of(option, lists))) {
      out.push_back(std::move(option));
    }
  }
  return out;
}

/// "cudart-doctor snapshot [OPTIONS]", from the help's own line.
std::string usage_of(const CLI::App& app, const std::string& name) {
  const std::string help = app.help(name.empty() ? "" : "cudart-doctor");
  constexpr std::string_view kBegin = "Usage: ";
  const std::size_t begin = help.find(kBegin);
  if (begin == std::string::npos) return "cudart-doctor " + name;
  return help.substr(begin + kBegin.size(), help.find('\n', begin) - begin - kBegin.size());
}

CommandRow command_of(CLI::App& app, const std::string& name) {
  return {.name = name,
          .text = app.get_description(),
          .usage = usage_of(app, name),
          .footer = app.get_footer(),
          .options = rows_of(app),
          .shared = {}};
}

}  // namespace

CommandTable describe_command_line() {
  Options options;
  CLI::App app;
  build_parser(app, options);
  CommandTable table;
  table.version = app.version();
  table.lists = offered_lists();
  table.commands.push_back(command_of(app, ""));
  for (CLI::App* const part : app.get_subcommands([](CLI::App*) { return true; })) {
    CommandRow command = command_of(*part, part->get_name());
    command.shared = shared_options(command, table.commands.front(), table.lists);
    table.commands.push_back(std::move(command));
  }
  return table;
}

}  // namespace cudart_doctor
