// SY01, SY05 by the probe, and how its results join the findings that stand already.
#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "cudart_doctor/analyze/file_owner.hpp"
#include "cudart_doctor/base/text.hpp"
#include "probe_view.hpp"
#include "rules_probe.hpp"

namespace cudart_doctor {
namespace {

std::vector<Finding> judge_missing(const Observations& seen) {
  std::vector<Finding> out;
  for (const ProbedRuntime& runtime : seen.snapshot.probe.runtimes) {
    const Candidate* candidate = candidate_of(seen, runtime);
    if (!runtime.skipped.empty() || runtime.missing.empty() || candidate == nullptr ||
        candidate->kind != RuntimeKind::genuine) {
      continue;
    }
    std::vector<std::string> names;
    for (const std::string& name : runtime.missing) names.push_back(told(name));
    Finding finding = start_finding(
        "SY01", Severity::error,
        runtime_name(seen, runtime) + " lacks " + names.front() + ", which consumers bind.");
    finding.effect =
        "binding fails at the first missing name: vLLM, SGLang and FlashInfer stop there";
    finding.evidence = {"Loaded by the probe: " + told(runtime.path),
                        "Names that it lacks: " + join(names, ", ")};
    finding.fixes = {command_or(seen.snapshot, runtime.path, PackageStep::reinstall,
                                "Reinstall the package that brought it") +
                     ": the file is damaged or was cut down"};
    out.push_back(std::move(finding));
  }
  return out;
}

std::string how_it_failed(const StageResult& stage) {
  const std::string where = " in stage " + std::string(stage_name(stage.stage));
  if (stage.outcome == StageOutcome::begun) {
    return "crashed or hung" + where +
           (stage.detail.empty() ? "" : " (" + told(stage.detail) + ")");
  }
  if (stage.code) return "failed" + where + ": " + shown_code(*stage.code, stage.call);
  return "failed" + where;
}

/// `again` is how to reinstall the runtime, at the beginning of a sentence.
std::vector<std::string> fixes_for(Stage stage, const std::string& again) {
  switch (stage) {
    case Stage::file: return {again + ": the file is shorter than its segments"};
    case Stage::load: return {again + "; look for its missing libraries with ldd"};
    default:
      return {"Repeat without preloaded libraries (LD_PRELOAD, CUDA_INJECTION64_PATH)",
              again + ", or use another release of the runtime"};
  }
}

std::vector<Finding> judge_unusable(const Observations& seen, const ProbeFailures& failures) {
  using Step = std::tuple<Stage, std::optional<int>, StageOutcome, std::string>;
  const auto step_of = [](const ProbeFailure& failure) {
    const StageResult& stage = *failure.stage;
    // A crash and a hang are told apart by their detail alone.
    return Step{stage.stage, stage.code, stage.outcome,
                stage.outcome == StageOutcome::begun ? stage.detail : std::string()};
  };
  std::set<Step> done;
  std::vector<Finding> out;
  for (const ProbeFailure& failure : failures) {
    if (!done.insert(step_of(failure)).second) continue;
    ProbeFailures alike;
    std::set<const ProbedRuntime*> runtimes;
    for (const ProbeFailure& other : failures) {
      if (step_of(other) != step_of(failure)) continue;
      alike.push_back(other);
      runtimes.insert(other.runtime);
    }
    const std::string who = runtimes.size() == 1
                                ? "The CUDA runtime " + runtime_name(seen, *failure.runtime)
                                : std::to_string(runtimes.size()) + " CUDA runtimes";
    Finding finding =
        start_finding("SY05", Severity::error, who + " " + how_it_failed(*failure.stage) + ".");
    finding.evidence = failure_evidence(seen, alike);
    const std::string& output = failure.stage->side == ProbeSide::importer
                                    ? failure.runtime->importer.output
                                    : failure.runtime->exporter.output;
    if (!output.empty()) finding.evidence.push_back("It printed: " + told(output));
    finding.fixes = fixes_for(failure.stage->stage,
                              command_or(seen.snapshot, failure.runtime->path,
                                         PackageStep::reinstall, "Reinstall the package"));
    out.push_back(std::move(finding));
  }
  return out;
}

/// Findings of which one process can have only one: further signs of it are evidence.
bool is_single(std::string_view id) { return id.starts_with("DR") || id == "IP04" || id == "IP08"; }

void merge(std::vector<Finding>& known, Finding more) {
  const auto same = std::find_if(known.begin(), known.end(),
                                 [&](const Finding& finding) { return finding.id == more.id; });
  if (same == known.end() || !is_single(more.id)) {
    known.push_back(std::move(more));
    return;
  }
  if (more.severity > same->severity) std::swap(*same, more);
  for (std::string& sentence : more.evidence) {
    const auto& all = same->evidence;
    if (std::find(all.begin(), all.end(), sentence) == all.end()) {
      same->evidence.push_back(std::move(sentence));
    }
  }
}

/// Two runtimes of one major are a warning until a code shows that they get in each other's way.
void confirm_duplicates(const Observations& seen, std::vector<Finding>& known,
                        const ProbeFailures& failures) {
  for (Finding& finding : known) {
    if (finding.id != "RT05") continue;
    ProbeFailures mine;
    for (const ProbeFailure& failure : failures) {
      const std::string path = escape_foreign(failure.runtime->path);
      const auto names_it = [&](const std::string& text) {
        return text.find(path) != std::string::npos;
      };
      if (std::any_of(finding.evidence.begin(), finding.evidence.end(), names_it)) {
        mine.push_back(failure);
      }
    }
    if (mine.empty()) continue;
    finding.severity = Severity::error;
    for (std::string& sentence : failure_evidence(seen, mine)) {
      finding.evidence.push_back(std::move(sentence));
    }
  }
}

}  // namespace

std::vector<Finding> judge_probe_runtimes(const Observations& seen, const ProbeFailures& failures) {
  std::vector<Finding> out = judge_missing(seen);
  append_findings(out, judge_unusable(seen, explained_by(failures, "SY05")));
  return out;
}

std::vector<Finding> with_probe(const Observations& seen, std::vector<Finding> known) {
  const ProbeFailures failures = probe_failures(seen);
  for (auto* const family :
       {&judge_probe_driver, &judge_probe_kernels, &judge_probe_ipc, &judge_probe_runtimes}) {
    for (Finding& finding : family(seen, failures)) merge(known, std::move(finding));
  }
  confirm_duplicates(seen, known, explained_by(failures, "RT05"));
  return known;
}

}  // namespace cudart_doctor
