// What the slots of a process's objects hold now: where calls of the runtime's functions go.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "cudart_doctor/base/byte_source.hpp"
#include "cudart_doctor/base/fact.hpp"
#include "cudart_doctor/formats/elf.hpp"
#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

inline constexpr std::size_t kMaxSlotsOfObject = 4096;
inline constexpr std::size_t kMaxSlots = 65536;

/// By index into Snapshot::objects; unknown: why the relocations could not be read.
using SlotPlaces = std::map<std::uint32_t, Fact<std::vector<SlotPlace>>>;

/// Fills LoadedObject::slots of the objects in `places` from the process's memory, for every
/// loader namespace that the link map shows them in. A slot that cannot be read makes those of its
/// object unknown. An object may have kMaxSlotsOfObject of them, its loads in all namespaces taken
/// together, and all objects kMaxSlots: those beyond are unknown, and a note says so.
void read_slots(ByteSource& memory, const SlotPlaces& places, Snapshot& snapshot);

}  // namespace cudart_doctor
