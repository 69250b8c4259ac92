// Snapshot to folder and back: the raw maps as a file, the rest as one JSON file. A bundle that
// was read again gives the same report, byte for byte, on any machine.
#pragma once

#include <string>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

/// Writes DIR/snapshot.json and DIR/maps; makes DIR (mode 0700), refuses one that is not empty.
Result<void> write_bundle(const Snapshot& snapshot, const std::string& directory);

/// Errors: not_found, malformed (names the file and the key), limit, io.
Result<Snapshot> read_bundle(const std::string& directory);

}  // namespace cudart_doctor
