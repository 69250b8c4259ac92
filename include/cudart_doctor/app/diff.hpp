// `cudart-doctor diff`: reads reports and snapshots, compares, prints.
#pragma once

#include <chrono>

#include "cudart_doctor/app/options.hpp"
#include "cudart_doctor/app/run.hpp"
#include "cudart_doctor/model/comparison.hpp"
#include "cudart_doctor/sys/supervise.hpp"

namespace cudart_doctor {

/// What is compared, read in the order of the command line. `piped` is what stood on stdin, for
/// "-". A snapshot's folder is replayed. Errors: usage, naming the argument.
Result<Comparison> compare_named(const Options& options, const std::string& piped,
                                 Progress& progress);

/// The text on stdin where "-" is among the arguments; else empty; read until `end`. Errors:
/// usage (too large, unreadable), timeout.
Result<std::string> read_piped(const Options& options, const World& world,
                               std::chrono::steady_clock::time_point end);

}  // namespace cudart_doctor
