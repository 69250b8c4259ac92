// How --help shows options and arguments.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "option_words.hpp"

namespace cudart_doctor {

/// An option with its value's name and nothing else, in 80 columns; arguments by their names in
/// the usage.
class HelpFormat : public CLI::Formatter {
 public:
  // What excludes what is said where somebody gives both.
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string name = value_name(*option);
    return (name.empty() ? name : " " + name) +
           (option->get_required() && !option->get_positional() ? " (required)" : "");
  }
  // Not every version of CLI11 breaks lines.
  std::string make_option_desc(const CLI::Option* option) const override {
    constexpr std::size_t kColumns = 80;
    const std::size_t width = kColumns - get_column_width();
    std::string_view rest = option->get_description();
    std::string out;
    while (rest.size() > width) {
      const std::size_t blank = rest.rfind(' ', width);
      if (blank == std::string_view::npos) break;
      out.append(rest.substr(0, blank)).append("\n");
      rest.remove_prefix(blank + 1);
    }
    return out.append(rest);
  }
  // Behind "--" the parser does not look.
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string line = CLI::Formatter::make_usage(app, name);
    const std::size_t end = line.find_last_not_of('\n');
    if (app->get_name() == "run") line.insert(end + 1, " -- CMD [ARG]...");
    return line;
  }
  std::string make_option_usage(const CLI::Option* option) const override {
    const std::string name = option->get_type_name();
    return option->get_required() ? name : "[" + name + "]";
  }
};

}  // namespace cudart_doctor
