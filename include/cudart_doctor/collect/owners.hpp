// Whose file it is: the package that brought each CUDA library, by the records of wheels, conda,
// dpkg and rpm in the target's view.
#pragma once

#include "cudart_doctor/collect/capture_context.hpp"
#include "cudart_doctor/collect/disk.hpp"
#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

/// Fills Snapshot::owners for the mapped objects and the files on disk that CaptureRules::
/// wants_owner names. What a path belongs to now, whatever file is mapped. Needs objects, installed
/// files and the Python environment to be there already.
void find_owners(const CaptureContext& context, Snapshot& snapshot, const DiskReader& disk);

}  // namespace cudart_doctor
