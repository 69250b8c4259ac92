// The order of the questions: was it run, did a stage fail, was something left out, does a fact of
// the target speak against it. Only then it works.
#include "cudart_doctor/analyze/probe_verdict.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "cudart_doctor/analyze/rules.hpp"
#include "cudart_doctor/base/text.hpp"
#include "probe_causes.hpp"
#include "probe_view.hpp"

namespace cudart_doctor {
namespace {

/// Without these there is no proof. Control and PTX are checks of the driver, made once for all
/// runtimes; pairs of cards exist only where there are two.
constexpr std::array kNeeded{
    Stage::load,      Stage::symbols,    Stage::devices,    Stage::context,     Stage::memory,
    Stage::kernels,   Stage::ipc_export, Stage::ipc_import, Stage::ipc_compute, Stage::ipc_verify,
    Stage::ipc_event, Stage::ipc_close,  Stage::ipc_again};

/// What a passing round trip of plain memory says nothing about.
constexpr std::array<std::string_view, 5> kAgainstSharing{"IP01", "IP02", "IP03", "IP04", "IP05"};

const Finding* find_finding(const Report& report, std::string_view id) {
  const auto found = std::find_if(report.findings.begin(), report.findings.end(),
                                  [id](const Finding& finding) { return finding.id == id; });
  return found == report.findings.end() ? nullptr : &*found;
}

std::string first_fix(const Finding* finding) {
  return finding == nullptr || finding->fixes.empty() ? std::string() : finding->fixes.front();
}

/// A finding that says that this process's own sharing would fail; IP05 counts where it is needed.
const Finding* objection(const Report& report) {
  for (const std::string_view id : kAgainstSharing) {
    const Finding* finding = find_finding(report, id);
    if (finding != nullptr && finding->severity >= Severity::warning) return finding;
  }
  return nullptr;
}

/// The runtime that the verdict is about: the selected one, else the first that was to be run.
const ProbedRuntime* runtime_in_question(const ProbeFacts& probe) {
  const auto selected = std::find_if(probe.runtimes.begin(), probe.runtimes.end(),
                                     [](const auto& runtime) { return runtime.selected; });
  if (selected != probe.runtimes.end()) return &*selected;
  const auto first = std::find_if(probe.runtimes.begin(), probe.runtimes.end(),
                                  [](const auto& runtime) { return !runtime.look_alike; });
  return first == probe.runtimes.end() ? nullptr : &*first;
}

ProbeVerdict not_run(std::string reason) {
  ProbeVerdict verdict;
  verdict.sentence = std::move(reason);
  return verdict;
}

std::string why_not_run(const ProbeFacts& probe) {
  if (probe.reason.empty()) return "not run";
  return probe.reason.starts_with("not ") ? told(probe.reason) : "not run: " + told(probe.reason);
}

/// "ipc_event (REASON)" of the stages that the verdict needs and that did not run.
std::string left_out(const ProbedRuntime& runtime) {
  for (const Stage stage : kNeeded) {
    bool passed = false;
    for (const StageResult& result : runtime.stages) {
      if (result.stage != stage || is_between_cards(result)) continue;
      if (result.outcome == StageOutcome::skipped) {
        return std::string(stage_name(stage)) +
               (result.detail.empty() ? " was skipped"
                                      : " was skipped (" + told(result.detail) + ")");
      }
      passed = passed || result.outcome == StageOutcome::pass;
    }
    if (!passed) return "there is no record of " + std::string(stage_name(stage));
  }
  return {};
}

std::string failed_at(const StageResult& stage) {
  const std::string where = "stage " + std::string(stage_name(stage.stage)) + " (" +
                            std::string(side_name(stage.side)) + ")";
  if (stage.outcome == StageOutcome::begun) {
    return where + " never ended" + (stage.detail.empty() ? "" : ": " + told(stage.detail));
  }
  if (!stage.code) {
    return where + " failed" + (stage.detail.empty() ? "" : ": " + told(stage.detail));
  }
  return (stage.call.empty() ? where : told(stage.call)) + " gave " +
         shown_code(*stage.code, stage.call);
}

ProbeVerdict failed(const Observations& seen, const Report& report, const ProbeFailure& failure) {
  ProbeVerdict verdict;
  const std::string name = runtime_name(seen, *failure.runtime);
  const auto& differences = report.snapshot.probe.differences;
  // A failure that is the probe's own, or that was seen from elsewhere, proves nothing of the
  // target.
  // A running process holds its memory already: it is not at fault if none is left.
  const bool late = failure.finding == "DR15" && !report.snapshot.environment_only;
  const bool about_target = failure.owner.has_value() && differences.empty() && !late;
  verdict.outcome = about_target ? ProbeOutcome::does_not : ProbeOutcome::not_confirmed;
  // Nothing ran at all.
  if (failure.stage->stage == Stage::start) verdict.outcome = ProbeOutcome::not_run;
  verdict.sentence = name + (about_target ? " does not work: " : ": ") + failed_at(*failure.stage) +
                     (failure.cause.empty() ? "" : "; " + failure.cause);
  if (!differences.empty()) {
    verdict.sentence += "; not confirmed for this process: " + told(differences.front());
  }
  verdict.stage = failure.stage->stage;
  verdict.code = failure.stage->code;
  verdict.cause = failure.cause;
  verdict.finding = failure.finding;
  verdict.owner = failure.owner;
  const Finding* finding = find_finding(report, failure.finding);
  verdict.remedy = first_fix(finding);
  if (finding != nullptr) verdict.owner = finding->owner;
  return verdict;
}

/// A look-alike is asked for its names only.
ProbeVerdict of_look_alike(const Observations& seen, const Report& report,
                           const ProbedRuntime& runtime) {
  ProbeVerdict verdict;
  const Finding* finding = find_finding(report, "RT04");
  verdict.outcome = runtime.missing.empty() ? ProbeOutcome::not_confirmed : ProbeOutcome::does_not;
  verdict.sentence = runtime_name(seen, runtime) + " is no CUDA runtime; " +
                     (runtime.missing.empty() ? "it was asked for its names only"
                                              : "it lacks " + told(runtime.missing.front()));
  if (!runtime.missing.empty()) verdict.stage = Stage::symbols;
  verdict.cause = "a look-alike was selected";
  verdict.finding = finding == nullptr ? "" : "RT04";
  verdict.remedy = first_fix(finding);
  verdict.owner = Owner::image;
  return verdict;
}

std::string success_phrase(const Observations& seen, const ProbedRuntime& runtime) {
  const std::size_t devices = seen.snapshot.probe.devices.size();
  return runtime_name(seen, runtime) + " works" +
         (devices == 0 ? std::string() : " on " + count_of(devices, "card")) +
         ": kernels right, CUDA IPC round trip right";
}

ProbeVerdict passed(const Observations& seen, const Report& report, const ProbedRuntime& runtime) {
  ProbeVerdict verdict;
  verdict.outcome = ProbeOutcome::not_confirmed;
  const std::string name = runtime_name(seen, runtime);
  const Finding* against = objection(report);
  if (against != nullptr) {
    verdict.finding = against->id;
    verdict.cause = against->headline;
    verdict.remedy = first_fix(against);
    verdict.owner = against->owner;
  }
  const std::string but = against == nullptr
                              ? std::string()
                              : "; this process's own sharing would fail (" + against->id + ")";
  if (const std::string gap = left_out(runtime); !gap.empty()) {
    verdict.sentence = name + ": no stage failed, but " + gap + but;
    return verdict;
  }
  verdict.sentence = success_phrase(seen, runtime) + but;
  if (const auto& differences = report.snapshot.probe.differences; !differences.empty()) {
    verdict.sentence += "; not confirmed for this process: " + told(differences.front());
    return verdict;
  }
  if (against == nullptr) verdict.outcome = ProbeOutcome::works;
  return verdict;
}

ProbeVerdict overall(const Observations& seen, const Report& report) {
  const ProbeFacts& probe = report.snapshot.probe;
  if (probe.decision == ProbeDecision::not_asked && report.snapshot.recording.is_known()) {
    return not_run("run probes nothing; --pid PID --probe on does");
  }
  if (probe.decision != ProbeDecision::run) return not_run(why_not_run(probe));
  const ProbedRuntime* runtime = runtime_in_question(probe);
  if (runtime == nullptr) return not_run("no genuine runtime was probed");
  // Equal contents are probed once, under the name that came first.
  if (!runtime->skipped.empty()) {
    return not_run(runtime_name(seen, *runtime) + " was not run: " + told(runtime->skipped));
  }
  const Candidate* candidate = candidate_of(seen, *runtime);
  if (runtime->look_alike || (candidate != nullptr && is_fake(candidate->kind))) {
    return of_look_alike(seen, report, *runtime);
  }
  const ProbeFailures failures = probe_failures(seen);
  const auto mine =
      std::find_if(failures.begin(), failures.end(),
                   [&](const ProbeFailure& failure) { return failure.runtime == runtime; });
  return mine == failures.end() ? passed(seen, report, *runtime) : failed(seen, report, *mine);
}

struct Need {
  Mechanism mechanism;
  std::string_view needed_by;
  std::array<std::string_view, 3> objections;  ///< Findings that speak against it in the target.
};

constexpr std::array<Need, 6> kNeeds{{
    {Mechanism::legacy_memory, "custom all-reduce of vLLM and SGLang", {"IP01", "IP02", "IP03"}},
    {Mechanism::event, "tensors that PyTorch passes between processes", {"IP02", "IP03", ""}},
    {Mechanism::vmm_socket, "FlashInfer's all-reduce workspace", {"IP03", "", ""}},
    {Mechanism::vmm_pidfd, "PyTorch's expandable segments", {"IP03", "", ""}},
    {Mechanism::fabric, "memory shared between nodes over NVLink", {"IP03", "", ""}},
    {Mechanism::multicast, "all-reduce inside the NVLink switch", {"", "", ""}},
}};

std::string refusal_of(const MechanismResult& result) {
  const std::string call = result.call.empty() ? std::string() : told(result.call) + " gave ";
  if (result.error && *result.error != 0) return call + errno_name(*result.error);
  if (result.code && *result.code != 0) return call + shown_code(*result.code, result.call);
  if (!result.detail.empty()) return told(result.detail);
  return result.outcome == StageOutcome::begun ? "never ended" : "failed";
}

/// By the runtime's own stages: the child repeats them as mechanisms, which may be missing.
StageOutcome legacy_outcome(const ProbedRuntime& runtime, Mechanism mechanism) {
  StageOutcome answer = StageOutcome::skipped;
  for (const StageResult& stage : runtime.stages) {
    if (!is_ipc_stage(stage.stage) || is_between_cards(stage)) continue;
    if ((stage.stage == Stage::ipc_event) != (mechanism == Mechanism::event)) continue;
    if (is_failed(stage.outcome)) return StageOutcome::fail;
    const bool proof = stage.stage == Stage::ipc_verify || stage.stage == Stage::ipc_event;
    if (proof && stage.outcome == StageOutcome::pass) answer = StageOutcome::pass;
  }
  return answer;
}

MechanismVerdict mechanism_verdict(const Report& report, const Need& need,
                                   const ProbedRuntime* runtime) {
  const ProbeFacts& probe = report.snapshot.probe;
  MechanismVerdict verdict{need.mechanism, ProbeOutcome::not_run, "not tried",
                           std::string(need.needed_by)};
  const MechanismResult* tried = find_mechanism(probe, need.mechanism);
  StageOutcome outcome = tried == nullptr ? StageOutcome::skipped : tried->outcome;
  const bool legacy =
      need.mechanism == Mechanism::legacy_memory || need.mechanism == Mechanism::event;
  if (legacy) {
    // Another runtime's round trip says nothing of this one.
    outcome = runtime == nullptr ? StageOutcome::skipped : legacy_outcome(*runtime, need.mechanism);
  }
  if (outcome == StageOutcome::skipped) {
    const bool says_why = tried != nullptr && tried->outcome == StageOutcome::skipped;
    if (says_why && !tried->detail.empty()) verdict.reason = told(tried->detail);
    return verdict;
  }
  if (is_failed(outcome)) {
    verdict.outcome = ProbeOutcome::does_not;
    verdict.reason = tried == nullptr || !is_failed(tried->outcome) ? "failed" : refusal_of(*tried);
    return verdict;
  }
  verdict.outcome = ProbeOutcome::works;
  verdict.reason.clear();
  for (const std::string_view id : need.objections) {
    const Finding* finding = find_finding(report, id);
    if (finding == nullptr || finding->severity < Severity::warning) continue;
    verdict.outcome = ProbeOutcome::does_not;
    verdict.reason = "works by itself, not for this process: " + finding->id;
    return verdict;
  }
  if (need.mechanism == Mechanism::multicast) {
    verdict.outcome = ProbeOutcome::not_confirmed;
    verdict.reason = "the driver claims it; not tried";
  } else if (!probe.differences.empty()) {
    verdict.outcome = ProbeOutcome::not_confirmed;
    verdict.reason = told(probe.differences.front());
  }
  return verdict;
}

}  // namespace

ProbeVerdict judge_probe(const Report& report) {
  const Observations seen{report.snapshot,  report.candidates, report.companions,
                          report.consumers, report.selections, report.provenance};
  ProbeVerdict verdict = overall(seen, report);
  const ProbeFacts& probe = report.snapshot.probe;
  if (probe.decision != ProbeDecision::run) return verdict;
  const ProbedRuntime* runtime = runtime_in_question(probe);
  for (const Need& need : kNeeds) {
    verdict.mechanisms.push_back(mechanism_verdict(report, need, runtime));
  }
  return verdict;
}

}  // namespace cudart_doctor
