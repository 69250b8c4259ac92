// Snapshot to folder and back: the raw maps as a file, the rest as one JSON file. A bundle that
// was read again gives the same report, byte for byte, on any machine.
//
// JSON format, version 1. Texts are JSON strings where their bytes are valid UTF-8, else
// {"hex": "2f746d702fff"}: paths and variables are bytes and survive as they are. A fact is null
// (not asked), {"known": VALUE} or {"unknown": REASON}; a map is a list of [key, value] pairs;
// enumerations are their names. Every key must be there, but those that came later (kLaterKeys);
// unknown keys are ignored.
#pragma once

#include <string>
#include <string_view>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

inline constexpr int kBundleVersion = 1;

/// Writes DIR/snapshot.json and DIR/maps; makes DIR (mode 0700), refuses one that is not empty.
/// What could not be written whole is taken away again. Errors: usage (DIR is not empty),
/// permission, io.
Result<void> write_bundle(const Snapshot& snapshot, const std::string& directory);

/// Files are read only where they are regular files of at most 256 MiB, symbolic links are not
/// followed. Errors: not_found, malformed (names the file and the key), unsupported (another
/// bundle version), limit, permission, io.
Result<Snapshot> read_bundle(const std::string& directory);

/// The snapshot as bundle JSON, without the text of maps. Pure.
std::string snapshot_to_json(const Snapshot& snapshot);

/// The reverse, with the text of maps; `file` is named in errors. Pure. Errors: malformed,
/// unsupported, limit.
Result<Snapshot> snapshot_from_json(std::string_view json, std::string maps_text,
                                    std::string_view file);

}  // namespace cudart_doctor
