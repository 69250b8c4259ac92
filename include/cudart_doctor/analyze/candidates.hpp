// From the snapshot's objects to candidates and companions.
#pragma once

#include <vector>

#include "cudart_doctor/model/candidate.hpp"
#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

/// Every mapped object and installed file that is, calls itself or behaves like a CUDA runtime.
/// Mapped ones first, by lowest address; then those on disk only, by path.
std::vector<Candidate> find_candidates(const Snapshot& snapshot);

/// Driver, NVRTC and NVML libraries, genuine or not; mapped ones first.
std::vector<Companion> find_companions(const Snapshot& snapshot);

}  // namespace cudart_doctor
