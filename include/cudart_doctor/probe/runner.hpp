// Carries a plan out: opens the candidates' files, starts an exporter and an importer with the
// target's rights, reads their frames, ends them at the deadline, and repeats alone what failed.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "cudart_doctor/analyze/probe_plan.hpp"
#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/model/probe.hpp"

namespace cudart_doctor {

struct ProbeRunOptions {
  std::string proc_root = "/proc";
  std::string executable = "/proc/self/exe";     ///< Re-executed with kProbeChildArgument.
  std::chrono::milliseconds deadline{20000};     ///< For the whole probe.
  std::chrono::milliseconds stage_limit{10000};  ///< For one stage of one candidate.
  /// Told at every frame and at least once a second, so that a supervisor sees life.
  std::function<void(std::string_view what)> progress;
};

/// Runs the probe; fills devices, driver, runtimes, mechanisms, differences, environment and
/// milliseconds of the result; its decision is `run`. Never fails as a whole: what could not be
/// done is in the stages. Returns at most 2 s after the deadline. No child of it is left, unless in
/// uninterruptible sleep (then ChildEndKind::left names it).
ProbeFacts run_probe(const ProbePlan& plan, const ProbeRunOptions& options);

/// Asks NVML in a child of its own, and /proc, who uses the cards. Never a CUDA call. At most 5 s,
/// or options.deadline where that is shorter. Identity and environment of the plan are those of
/// the probe: its children see the same devices, and MPS is looked for where they would.
ProbeGate look_at_cards(const ProbePlan& plan, const ProbeRunOptions& options);

/// The children's side; main() calls them before anything else when argv[1] is the hidden argument.
int probe_child_main();
int gate_child_main();

}  // namespace cudart_doctor
