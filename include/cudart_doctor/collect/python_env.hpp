// The target's Python environment: site directories, as an interpreter there would search them, and
// the distributions in them. Nothing is executed: paths, links and pyvenv.cfg tell.
#pragma once

#include "cudart_doctor/collect/capture_context.hpp"
#include "cudart_doctor/collect/disk.hpp"
#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

/// Fills Snapshot::python. For a target that runs Python: its own environment; else the active one
/// (--python, VIRTUAL_ENV, CONDA_PREFIX, python3 on PATH). Needs objects, environment and process
/// facts to be there already. Error: usage, where --python names no Python that has packages.
Result<void> read_python(const CaptureContext& context, Snapshot& snapshot, const DiskReader& disk);

}  // namespace cudart_doctor
