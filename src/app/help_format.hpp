// How --help shows options and arguments.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>

namespace cudart_doctor {

/// An option with its value's name and nothing else; arguments by their names in the usage.
class HelpFormat : public CLI::Formatter {
 public:
  // What excludes what is said where somebody gives both.
  std::string make_option_opts(const CLI::Option* option) const override {
    // CLI11 appends the range that it checks.
    const std::string type = option->get_type_name();
    const std::string name = type.substr(0, std::min(type.find(":INT"), type.find(":FLOAT")));
    const bool named = option->get_type_size() != 0 && !name.empty();
    return (named ? " " + name : std::string()) +
           (option->get_required() && !option->get_positional() ? " (required)" : "");
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
