// All mapped objects of a process, read by one thread or, where a second one may help, by two
// (docs/adr/0005).
#pragma once

#include "cudart_doctor/collect/capture_context.hpp"
#include "cudart_doctor/collect/slots.hpp"
#include "cudart_doctor/model/snapshot.hpp"
#include "cudart_doctor/sys/process_memory.hpp"

namespace cudart_doctor {

/// 2 where a second thread was allowed and there is a CPU for it, else 1.
unsigned reader_threads(const CaptureContext& context);

/// Groups the mappings of `snapshot` into objects, reads those and counts them. The result does not
/// depend on which thread read what. Returns where their slots are.
SlotPlaces read_objects(const CaptureContext& context, ProcessMemory& memory, Snapshot& snapshot);

}  // namespace cudart_doctor
