// The parser before it has seen a command line: what option_table.cpp describes.
#pragma once

#include <CLI/CLI.hpp>

#include "cudart_doctor/app/options.hpp"

namespace cudart_doctor {

/// Adds all options and subcommands to `app`, which is new; `options` has to outlive the parse.
void build_parser(CLI::App& app, Options& options);

}  // namespace cudart_doctor
