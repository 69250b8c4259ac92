// The options of `run`. Only options.cpp uses it.
#pragma once

#include <CLI/CLI.hpp>

#include "cudart_doctor/app/options.hpp"

namespace cudart_doctor {

/// Adds the subcommand, its options and its help; `options` has to outlive the parse.
void add_run(CLI::App& app, Options& options);

}  // namespace cudart_doctor
