// The target's Python environment: site directories, as an interpreter there would search them, and
// the distributions in them. Nothing is executed: paths, links and pyvenv.cfg tell.
#pragma once

#include <string>
#include <vector>

#include "cudart_doctor/collect/capture_context.hpp"
#include "cudart_doctor/collect/disk.hpp"
#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

/// What the mapped files say of Python.
struct PythonSigns {
  bool library = false;            ///< A libpython is loaded.
  std::string version;             ///< "3.11" of its name, "" where that tells none.
  std::vector<std::string> sites;  ///< Site directories of mapped files, that with most first.
};
/// Looks at names only: the objects need not have been read. Pure.
PythonSigns find_python_signs(const std::vector<LoadedObject>& objects);

/// Fills Snapshot::python. For a target that runs Python: its own environment; else the active one
/// (--python, VIRTUAL_ENV, CONDA_PREFIX, python3 on PATH). Needs environment and process facts to
/// be there already. Error: usage, where --python names no Python that has packages.
Result<void> read_python(const CaptureContext& context, Snapshot& snapshot, const DiskReader& disk,
                         const PythonSigns& signs);

}  // namespace cudart_doctor
