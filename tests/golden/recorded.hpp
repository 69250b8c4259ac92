// A bundle's process as the one that a command ran.
#pragma once

#include <string>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor::test {

/// The bundle in `folder` with the recording in `file`, in the form that bundles have; "" for a
/// command of which no process was judged. Errors: as read_bundle.
Result<Snapshot> with_recording(const std::string& file, const std::string& folder);

}  // namespace cudart_doctor::test
