// Helpers of the probe's tests: plans for the scripted child, and what is left behind.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/analyze/probe_plan.hpp"
#include "cudart_doctor/model/probe.hpp"
#include "cudart_doctor/probe/runner.hpp"

namespace probe {

/// A subject that is the file at `path`.
cudart_doctor::ProbeSubject subject_at(const std::string& path);

/// Three toy runtimes, in the doctor's own view, with this script.
cudart_doctor::ProbePlan plan_with(std::string_view script);
/// One of them.
cudart_doctor::ProbePlan single_plan(std::string_view script);

/// Generous where nothing is to be late.
cudart_doctor::ProbeRunOptions options();

/// run_probe with the scripted child; checks that nothing of it is left.
cudart_doctor::ProbeFacts run(const cudart_doctor::ProbePlan& plan,
                              const cudart_doctor::ProbeRunOptions& options);

/// Waits at most 5 s for what the kernel ends by itself; true once no marked process is left.
bool all_marked_end();

/// What the script's REPORT told of the exporter (the first candidate).
std::string reported(const cudart_doctor::ProbeFacts& facts);

/// The first result of a stage by a side; nullptr when there is none.
const cudart_doctor::StageResult* stage_of(const cudart_doctor::ProbedRuntime& runtime,
                                           cudart_doctor::Stage stage,
                                           cudart_doctor::ProbeSide side);

/// All that ran passed, on both sides to the end.
bool passed(const cudart_doctor::ProbedRuntime& runtime);

}  // namespace probe
