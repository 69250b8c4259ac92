// "Self": no process was named. A fresh child in this environment opens what a program started
// here would get, and is inspected like any other process.
#pragma once

#include <string>
#include <vector>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/collect/capture.hpp"
#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

struct SelfRequest {
  std::vector<std::string> load;  ///< --load, in order.
};

/// Starts the child, lets it open `load` and then, unless a genuine runtime came with that, the
/// first runtime that the loader finds; where it finds none, the one genuine runtime that is
/// installed in the active Python environment. Then captures it. Errors: as capture_process; usage
/// where a --load cannot be opened.
Result<Snapshot> capture_self(const SelfRequest& request, const CaptureOptions& options,
                              const CaptureRules& rules);

}  // namespace cudart_doctor
