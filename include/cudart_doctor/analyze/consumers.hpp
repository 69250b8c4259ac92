// Which frameworks are in the target, in which version, with which vintage of their rule.
#pragma once

#include <vector>

#include "cudart_doctor/model/candidate.hpp"
#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

/// Files that tell a consumer's vintage by their text (FlashInfer's cuda_ipc.py and its kin).
std::vector<DiskRequest> wanted_by_consumers(const Snapshot& snapshot);

/// One row a known consumer, always in the same order. Pure.
std::vector<Consumer> find_consumers(const Snapshot& snapshot);

}  // namespace cudart_doctor
