// What the probe's stages come to: one answer for the runtime in question, one for each way to
// share device memory.
#pragma once

#include "cudart_doctor/model/probe_verdict.hpp"
#include "cudart_doctor/model/report.hpp"

namespace cudart_doctor {

/// `report` has its findings. A stage that was skipped never counts as passed, and a round trip of
/// the probe's own memory never hides that the target's allocator or namespaces would fail.
ProbeVerdict judge_probe(const Report& report);

}  // namespace cudart_doctor
