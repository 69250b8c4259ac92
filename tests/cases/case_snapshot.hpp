// A case's facts as a Snapshot: the same type that capture fills from a live process.
#pragma once

#include "case_file.hpp"
#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor::test {

/// Errors: malformed (a maps block that parse_maps refuses, a bad number).
Result<Snapshot> make_snapshot(const CaseRun& run);

}  // namespace cudart_doctor::test
