// `run -- CMD`: starts a command under the recorder, judges its processes at the right moment.
#pragma once

#include "cudart_doctor/app/options.hpp"
#include "cudart_doctor/app/run.hpp"

namespace cudart_doctor {

/// Returns when the command has ended; the exit code is the command's own, unless `run --help` says
/// otherwise.
int launch(const Options& options, const World& world);

}  // namespace cudart_doctor
