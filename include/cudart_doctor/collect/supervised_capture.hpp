// Capture in a killable child: a file that never answers (FUSE, NFS) is named and left out, and the
// rest is looked at again without it.
#pragma once

#include <chrono>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/collect/capture.hpp"
#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

struct CaptureLimits {
  std::chrono::milliseconds deadline{30000};  ///< For all attempts together.
  std::chrono::milliseconds step_limit{3000}; ///< For one path: longer means that it hangs.
};

/// capture_process in a child. A path that did not answer is added to skip_paths and the capture
/// begins again; the snapshot's notes name such paths. `options.progress` is called in the child.
/// Errors: those of capture_process; timeout; io (the child crashed).
Result<Snapshot> capture_supervised(const CaptureOptions& options, const CaptureRules& rules,
                                    const CaptureLimits& limits);

}  // namespace cudart_doctor
