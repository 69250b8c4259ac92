// `cudart-doctor tree` and `--all`: many processes, one answer.
#pragma once

#include "cudart_doctor/app/options.hpp"
#include "cudart_doctor/app/run.hpp"
#include "cudart_doctor/sys/supervise.hpp"

namespace cudart_doctor {

/// Looks at a process with all below it, or at all of the node, and renders what was seen.
WorkResult inspect_many(const Options& options, const World& world);

}  // namespace cudart_doctor
