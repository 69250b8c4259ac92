// All mapped objects of a process, read by one thread or, where a second one may help, by two
// (docs/adr/0005, 0007).
#pragma once

#include <functional>

#include "cudart_doctor/collect/capture_context.hpp"
#include "cudart_doctor/collect/slots.hpp"
#include "cudart_doctor/model/snapshot.hpp"
#include "cudart_doctor/sys/process_memory.hpp"

namespace cudart_doctor {

/// Reads the objects of `snapshot` and counts them. The result does not depend on which thread read
/// what. `meanwhile` runs on this thread while a second one reads; it must leave the objects alone
/// but for their keys and rows. Returns where their slots are.
SlotPlaces read_objects(const CaptureContext& context, ProcessMemory& memory, Snapshot& snapshot,
                        const std::function<void()>& meanwhile);

}  // namespace cudart_doctor
