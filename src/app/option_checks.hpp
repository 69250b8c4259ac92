// What a command line may not combine, and how a wrong one is told. Only options.cpp uses it.
#pragma once

#include <CLI/CLI.hpp>
#include <span>
#include <string>

#include "cudart_doctor/app/options.hpp"

namespace cudart_doctor {

/// What does not go together in a command line that was parsed; empty where it is sound.
std::string find_slip(const CLI::App& app, const Options& options);

/// A usage error, told the way that the command line asks for as far as it can be understood.
Immediate usage_error(std::string text, std::span<const char* const> arguments);

}  // namespace cudart_doctor
