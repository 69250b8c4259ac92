#include "option_words.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "cudart_doctor/base/text.hpp"
#include "option_values.hpp"

namespace cudart_doctor {
namespace {

constexpr std::string_view kRunUsage = "cudart-doctor run [OPTIONS] -- CMD ARG...";

/// The subcommand that was given; else the program itself.
const CLI::App& given_part(const CLI::App& app) {
  const auto given = app.get_subcommands();
  return given.empty() ? app : *given.front();
}

const CLI::Option* find_option(const CLI::App& app, std::string_view name) {
  const std::string wanted(name.substr(0, name.find('=')));
  const CLI::Option* const own = given_part(app).get_option_no_throw(wanted);
  return own != nullptr ? own : app.get_option_no_throw(wanted);
}

/// How the option that `message` begins with is to be written; "" where it names none.
std::string usage_in(const CLI::App& app, std::string_view message) {
  const std::string_view name = message.substr(0, message.find_first_of(": "));
  const CLI::Option* const option = find_option(app, name);
  if (option == nullptr) return {};
  const std::string value = value_name(*option);
  if (option->get_positional()) return value;
  return option->get_name() + (value.empty() ? "" : " " + value);
}

/// Too few or too many values. CLI11 counts them; here it is said what to write.
std::string explain_count(const CLI::App& app, std::string_view message) {
  const std::string usage = usage_in(app, message);
  if (usage.empty()) return escape_foreign(message);
  const std::string name = usage.substr(0, usage.find(' '));
  constexpr std::string_view kAtMost = "At Most ";
  if (const auto at = message.find(kAtMost); at != std::string_view::npos) {
    if (!name.starts_with('-')) {
      const auto count = message.substr(at + kAtMost.size());
      return usage + ": at most " + std::string(count.substr(0, count.find(' '))) + " at once";
    }
    return name + " is given more than once and takes one value: " + usage;
  }
  if (message.find("At least") != std::string_view::npos) {
    return "one is too few for a comparison: cudart-doctor diff " + usage;
  }
  if (message.find(" missing") != std::string_view::npos) {
    return name + ": its value is missing: " + usage;
  }
  return escape_foreign(message);
}

std::string explain_required(const CLI::App& app, std::string_view message) {
  const std::string usage = usage_in(app, message);
  if (usage.empty()) return escape_foreign(message);
  const std::string part = given_part(app).get_name();
  return part + ": " + usage + " is missing: cudart-doctor " + part + " " + usage;
}

/// Words that nobody takes. They are most often a command without its "run" or its "--".
std::string explain_extras(const CLI::App& app, std::span<const std::string> command) {
  const std::vector<std::string> extras = app.remaining(true);
  if (extras.empty()) return "an argument was not expected";
  const std::string first = escape_foreign(extras.front());
  const bool is_option = extras.front().starts_with('-');
  const CLI::App* const run = app.get_subcommand("run");
  if (app.got_subcommand(run)) {
    const std::string slip = "run: " + first + (is_option ? ": no such option" : ": not expected");
    return slip + (command.empty() ? "; put -- before the command: " : " before the --: ") +
           std::string(kRunUsage);
  }
  const std::string name = extras.front().substr(0, extras.front().find('='));
  if (extras.front() == "--" || (is_option && run->get_option_no_throw(name) != nullptr)) {
    return first + " belongs to run: " + std::string(kRunUsage);
  }
  if (is_option) return first + ": no such option";
  if (!app.get_subcommands().empty()) {
    return given_part(app).get_name() + ": " + first + " was not expected";
  }
  return first + ": no such subcommand; to start a command: cudart-doctor run -- " + first;
}

}  // namespace

std::string value_name(const CLI::Option& option) {
  if (option.get_type_size() == 0) return {};
  const std::string type = option.get_type_name();
  return type.substr(0, std::min(type.find(":INT"), type.find(":FLOAT")));
}

std::string explain_slip(const CLI::ParseError& error, const CLI::App& app,
                         std::span<const std::string> command) {
  const std::string message = error.what();
  const bool is_run = app.got_subcommand(app.get_subcommand("run"));
  const std::string advice = is_run ? "\nRun `cudart-doctor run --help` for more information."
                                    : "\nRun with --help for more information.";
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    return explain_extras(app, command) + advice;
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    return explain_count(app, message) + advice;
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    return explain_required(app, message) + advice;
  }
  constexpr std::string_view kNoFlag = "Could not convert: ";
  if (message.starts_with(kNoFlag) && !usage_in(app, message.substr(kNoFlag.size())).empty()) {
    return message.substr(kNoFlag.size(), message.find(" = ") - kNoFlag.size()) +
           " takes no value" + advice;
  }
  // The wrong value may be one of the command's own options.
  const std::string behind =
      is_run && command.empty() ? "\nThe command of run stands behind --: " + std::string(kRunUsage)
                                : "";
  const bool printable = dynamic_cast<const PrintableError*>(&error) != nullptr;
  return (printable ? message : escape_foreign(message)) + behind + advice;
}

}  // namespace cudart_doctor
