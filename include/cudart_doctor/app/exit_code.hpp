// The exit code contract; the same in every format.
#pragma once

#include "cudart_doctor/base/result.hpp"

namespace cudart_doctor {

inline constexpr int kExitOk = 0;         ///< Nothing at or above --fail-on.
inline constexpr int kExitFindings = 1;   ///< Something at or above --fail-on.
inline constexpr int kExitUsage = 2;      ///< Command line, configuration or output place.
inline constexpr int kExitUndecided = 3;  ///< No permission, process gone, deadline, unread.

/// The code for an error that ended the run.
constexpr int exit_code_for(ErrorKind kind) {
  return kind == ErrorKind::usage ? kExitUsage : kExitUndecided;
}

}  // namespace cudart_doctor
