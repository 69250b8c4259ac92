// The exit code of `run`. Pure.
#pragma once

#include "cudart_doctor/app/options.hpp"
#include "cudart_doctor/model/exit_style.hpp"

namespace cudart_doctor {

/// How a launch ended.
struct LaunchEnd {
  int wait_status = 0;       ///< The command's, as from wait.
  bool gated = false;        ///< The gate ended it.
  bool stopped = false;      ///< The doctor ended it after the verdict.
  bool never_ready = false;  ///< It ended by itself before the condition of --ready-when was met.
  RunEnd verdict = RunEnd::ok;  ///< `usage`: the report could not be written.
};

/// The command's own code (128 + n for signal n), unless the gate, --then stop or --judge-exit say
/// otherwise. One that was to be stopped when ready and ended before that has the verdict's code
/// where its own is 0. A command that failed by itself keeps its code where the verdict is open.
int launch_exit_code(const LaunchEnd& end, const LaunchRequest& launch);

}  // namespace cudart_doctor
