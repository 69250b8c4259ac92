#include "cudart_doctor/app/probe.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "cudart_doctor/probe/runner.hpp"

namespace cudart_doctor {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// Kept back for judging and writing the report, of a short time a quarter.
constexpr milliseconds kReserve{2000};
constexpr milliseconds kLongest{20'000};

milliseconds milliseconds_until(Clock::time_point end) {
  return std::chrono::duration_cast<milliseconds>(end - Clock::now());
}

ProbeFacts not_run(const GateAnswer& answer, const ProbeRequest& request) {
  ProbeFacts facts;
  facts.decision = answer.decision;
  facts.reason = answer.reason;
  facts.required = request.mode == ProbeMode::require;
  return facts;
}

/// The self child has ended by now, and it had no view of its own: its files are opened by path.
void forget_target(ProbePlan& plan) {
  plan.identity = {};
  for (ProbeSubject& subject : plan.subjects) subject.map_lo = subject.map_hi = 0;
}

}  // namespace

ProbeFacts probe_runtimes(const Report& report, const ProbeRequest& request,
                          const ProbeLimits& limits) {
  // Most often the answer needs no look at the cards.
  const GateAnswer first = decide_probe(report, ProbeGate{}, request);
  if (first.decision == ProbeDecision::not_asked || first.decision == ProbeDecision::impossible) {
    return not_run(first, request);
  }
  ProbePlan plan = plan_probe(report, request);
  if (report.snapshot.environment_only) forget_target(plan);
  const auto end = Clock::now() + std::clamp(limits.left - std::min(kReserve, limits.left / 4),
                                             milliseconds{2}, kLongest);
  ProbeRunOptions options{.proc_root = std::string(limits.proc_root),
                          .deadline = milliseconds_until(end) / 2,
                          .progress = limits.progress};
  // A library of NVML that does not answer must leave time for the probe.
  ProbeGate gate = look_at_cards(plan, options);
  options.deadline = std::max(milliseconds_until(end), milliseconds{1});
  const GateAnswer answer = decide_probe(report, gate, request);
  ProbeFacts facts =
      answer.decision == ProbeDecision::run ? run_probe(plan, options) : not_run(answer, request);
  facts.required = request.mode == ProbeMode::require;
  facts.gate = std::move(gate);
  return facts;
}

}  // namespace cudart_doctor
