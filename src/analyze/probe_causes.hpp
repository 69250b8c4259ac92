// Which finding explains a stage that did not pass. One cause gives one finding: a driver that does
// not start is not also a broken runtime and a failed round trip.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/analyze/rules.hpp"
#include "cudart_doctor/model/probe.hpp"

namespace cudart_doctor {

/// A stage of a probed runtime that failed or never ended, and what explains it.
struct ProbeFailure {
  const ProbedRuntime* runtime = nullptr;
  const StageResult* stage = nullptr;
  std::string finding;         ///< Id; "" where the cause is no finding of the target.
  std::string cause;           ///< A phrase: "the driver is older than this runtime".
  std::optional<Owner> owner;  ///< Nothing where the probe itself could not go on.
};

using ProbeFailures = std::vector<ProbeFailure>;

/// All of them, in the order of running. Look-alikes are not asked to work; a side that was ended
/// because the other one was gone is no failure of its own.
ProbeFailures probe_failures(const Observations& seen);

/// Those that `id` explains.
ProbeFailures explained_by(const ProbeFailures& failures, std::string_view id);

/// "cudaMalloc gave 2 (...): stage memory, exporter, device 0, libcudart.so.12 12.8; DETAIL"
std::string failure_sentence(const Observations& seen, const ProbeFailure& failure);

/// The sentences of some failures, long lists cut, and how far the probe's view is the target's.
std::vector<std::string> failure_evidence(const Observations& seen, const ProbeFailures& failures);

/// The files that belong to the driver's devices and are missing in the target's view ("nvidiactl",
/// "any card"); empty where all are there, or /dev was not read.
std::vector<std::string> missing_nodes(const Snapshot& snapshot);

}  // namespace cudart_doctor
