// Checks of option values that the command line's parts share. Exceptions of CLI11 stop in
// options.cpp.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {

/// A wrong argument whose message has its foreign bytes escaped already.
class PrintableError : public CLI::ValidationError {
 public:
  using CLI::ValidationError::ValidationError;
};

/// An empty text is most often a variable that is not set, and would count as not given.
inline std::string check_named(const std::string& text) {
  return text.empty() ? "names no file" : std::string();
}

/// Digits alone: CLI11 reads 010 as 8 and 0x10 as 16, and the wrong process would be looked at.
/// `what` is what the text should be, with its article: "a PID".
inline CLI::Validator whole_number(std::string what, std::uint64_t most) {
  return {[what = std::move(what), most](const std::string& text) -> std::string {
            const auto number = parse_unsigned(text, 10);
            if (number && text.front() != '0' && *number <= most) return {};
            return "'" + text + "' is not " + what + ": a whole number from 1 to " +
                   std::to_string(most);
          },
          ""};
}

struct NamedValue {
  std::string_view name;
  int value = 0;
};

/// Turns a name into its enumerator; CLI11's own check would not say which names there are.
inline CLI::Validator one_of(std::vector<NamedValue> values) {
  return {[values = std::move(values)](std::string& text) -> std::string {
            std::string names;
            for (const NamedValue& each : values) {
              if (each.name == text) {
                text = std::to_string(each.value);
                return {};
              }
              names.append(names.empty() ? "" : ", ").append(each.name);
            }
            return "'" + text + "' is none of " + names;
          },
          ""};
}

/// Refuses nothing. Its name says what completion offers where the placeholder in --help does not:
/// words ("trace|debug"), "file", or a list of option_table.cpp ("policy").
inline CLI::Validator offers(std::string what) {
  CLI::Validator out{std::string()};
  out.name(std::move(what));
  return out;
}

}  // namespace cudart_doctor
