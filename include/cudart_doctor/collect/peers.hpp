// Processes that the target shares device memory with: of each what decides whether that can work.
#pragma once

#include <vector>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/collect/capture_context.hpp"
#include "cudart_doctor/model/snapshot.hpp"
#include "cudart_doctor/sys/proc_root.hpp"

namespace cudart_doctor {

/// The peers that the context's options name, in their order, each once. A peer that cannot be read
/// is an error as for the target, with "--peer PID" in front; usage where it is the target itself.
Result<std::vector<PeerFacts>> read_peers(const ProcDirectory& root, const CaptureContext& target);

}  // namespace cudart_doctor
