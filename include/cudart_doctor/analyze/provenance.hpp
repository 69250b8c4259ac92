// Who brought each candidate into the process, and who uses it.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
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

/// Which objects' slots for names of the runtime point into which object now. Made once in time
/// that grows with the number of slots. The snapshot must outlive it.
class SlotUses {
 public:
  explicit SlotUses(const Snapshot& snapshot);
  /// The users of `object`, in the order of Snapshot::objects; their names sorted, each once.
  [[nodiscard]] std::vector<SlotUse> of(std::size_t object) const;

 private:
  using Names = std::vector<std::string_view>;
  std::unordered_map<std::size_t, std::map<std::size_t, Names>> uses_;  ///< By target, then user.
};

}  // namespace cudart_doctor
