// What a command line that could not be parsed is told. Only options.cpp uses it.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>

namespace cudart_doctor {

/// Says what is wrong and what to write instead, foreign bytes escaped, without a newline at the
/// end. `command` is what stands behind "--".
std::string explain_slip(const CLI::ParseError& error, const CLI::App& app,
                         std::span<const std::string> command);

/// The name of an option's value without the limits that CLI11 appends to it; "" for a flag.
std::string value_name(const CLI::Option& option);

}  // namespace cudart_doctor
