// CUDA libraries that are installed where programs would find them, but are not mapped.
#pragma once

#include "cudart_doctor/collect/capture_context.hpp"
#include "cudart_doctor/collect/disk.hpp"
#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

/// Fills Snapshot::installed, facts in Snapshot::disk: one entry per real file, symbolic links
/// resolved, mapped files left out. Needs the loader cache, the environment and the site
/// directories to be there already.
void find_installed(const CaptureContext& context, Snapshot& snapshot, DiskReader& disk);

}  // namespace cudart_doctor
