// Who brought each candidate into the process, and who uses it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "cudart_doctor/model/candidate.hpp"
#include "cudart_doctor/model/provenance.hpp"
#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

/// One for each candidate, in their order. Pure.
std::vector<Provenance> find_provenance(const Snapshot& snapshot,
                                        std::span<const Candidate> candidates);

/// The object that a call through the slot ends in; nothing where it is not bound or ends in no
/// file's mapping. A program at a fixed address lends the entry of its own PLT as a function's
/// address: its slot for the name leads on.
std::optional<std::size_t> slot_target(const Snapshot& snapshot, const Slot& slot);

/// The objects of which a slot for a name of the runtime points into `object` now, in the order of
/// Snapshot::objects.
std::vector<SlotUse> slot_uses(const Snapshot& snapshot, std::size_t object);

}  // namespace cudart_doctor
