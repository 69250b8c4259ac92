// The pure half of the pipeline: identify, select, judge, order, verdict, headline.
#include "cudart_doctor/analyze/judge.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "cudart_doctor/analyze/candidates.hpp"
#include "cudart_doctor/analyze/consumers.hpp"
#include "cudart_doctor/analyze/global_scope.hpp"
#include "cudart_doctor/analyze/policy.hpp"
#include "cudart_doctor/analyze/probe_verdict.hpp"
#include "cudart_doctor/analyze/provenance.hpp"
#include "cudart_doctor/analyze/rules.hpp"
#include "cudart_doctor/analyze/timeline.hpp"
#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/model/link_map_reasons.hpp"
#include "driver_in_use.hpp"
#include "rules_probe.hpp"

namespace cudart_doctor {
namespace {

constexpr std::string_view kAssumedPolicy = "sglang-2026-07";

/// Of equal gravity: the driver's first, since nothing works without it; then what names a
/// consumer.
int urgency(const Finding& finding) {
  if (finding.id.starts_with("DR")) return 0;
  return finding.consumer.empty() ? 2 : 1;
}

/// A total order: two findings that differ never change places from run to run.
void sort_findings(std::vector<Finding>& findings) {
  std::sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    if (a.severity != b.severity) return a.severity > b.severity;
    if (urgency(a) != urgency(b)) return urgency(a) < urgency(b);
    return std::tie(a.id, a.headline, a.consumer, a.effect, a.evidence, a.fixes) <
           std::tie(b.id, b.headline, b.consumer, b.effect, b.evidence, b.fixes);
  });
}

/// Worse answers first: a consumer that fails is what the operator has to hear of.
int badness(const Selection& selection) {
  if (selection.works()) return 0;
  return selection.outcome == Outcome::selected ? 2 : 1;
}

struct Headline {
  std::string policy;
  std::string note;
};

Headline choose_headline(const Report& report, const std::string& asked) {
  if (!asked.empty()) return {asked, "asked for with --policy"};
  const Selection* best = nullptr;
  for (const Selection& selection : report.selections) {
    const Policy* policy = find_policy(selection.policy);
    if (policy == nullptr || !policy->scans_addresses || is_side_rule(selection)) continue;
    if (selection.presence != Presence::present) continue;
    if (best == nullptr || badness(selection) > badness(*best)) best = &selection;
  }
  const std::string place =
      report.snapshot.environment_only ? " is installed" : " is in this process";
  if (best != nullptr) return {best->policy, best->presence_note + place};
  for (const Consumer& consumer : report.consumers) {
    if (consumer.presence != Presence::present) continue;
    for (const Policy& policy : policies()) {
      if (policy.scans_addresses && policy.current && policy.consumer == consumer.id) {
        return {std::string(policy.id), consumer.name + (consumer.version.empty() ? "" : " ") +
                                            escape_foreign(consumer.version) + place +
                                            "; its rule is assumed to be the current one"};
      }
    }
  }
  return {std::string(kAssumedPolicy), "assumed: no consumer was found"};
}

/// Which process of the command could not be judged and why, or nothing.
std::string left_out_reason(const Snapshot& snapshot) {
  const Recording* recording = snapshot.recording.get();
  if (recording == nullptr) return {};
  const std::vector<std::size_t> left_out = processes_left_out(*recording);
  if (left_out.empty()) return {};
  const RecordedProcess& first = recording->processes[left_out.front()];
  std::string out = "pid " + std::to_string(first.pid) +
                    " holds libraries of CUDA and was not judged: " + first.not_judged;
  if (left_out.size() > 1) out += "; " + std::to_string(left_out.size() - 1) + " more like it";
  return out;
}

/// Why more may have been loaded than the recording shows, or nothing.
std::string recording_reason(const Snapshot& snapshot) {
  std::string left_out = left_out_reason(snapshot);
  const Recording* recording = snapshot.recording.get();
  if (recording == nullptr || !left_out.empty()) return left_out;
  if (nobody_judged(snapshot) && is_nobody_watched(*recording)) {
    const auto& processes = recording->processes;
    return "no process of this command was recorded or traced" +
           (processes.empty() || processes.front().unrecorded.empty()
                ? ""
                : ": " + processes.front().unrecorded);
  }
  const bool never_ready = !recording->ready_when.empty() && !recording->ready;
  if (never_ready && !recording->gated)
    return "never ready (" + escape_foreign(recording->ready_when) + ")";
  return {};
}

/// Whether a probe that was begun ended without an answer that a finding explains.
bool is_unfinished(const ProbeFacts& probe, const ProbeVerdict& probed) {
  if (probed.outcome == ProbeOutcome::not_run) return true;
  if (!probed.finding.empty() || !probed.stage) return false;
  // Without a finding that is a card of --devices that is not here.
  return probed.outcome == ProbeOutcome::does_not || probed.stage == Stage::devices ||
         probe.required;
}

/// Why a clean result cannot be given, or nothing. A library that was not read may be the one.
std::string undecided_reason(const Report& report) {
  const Snapshot& snapshot = report.snapshot;
  if (nobody_judged(snapshot)) return recording_reason(snapshot);
  if (snapshot.maps.rows.empty()) return "no mapping could be read";
  const std::size_t unread =
      std::max(snapshot.capture.unread.size(), count_unread_libraries(snapshot));
  if (unread > 0) {
    return count_of(unread, "mapped library", "mapped libraries") + " could not be read";
  }
  // What a program would get from its packages is the question there.
  const std::size_t folders = snapshot.python.unread_directories.size();
  if (snapshot.environment_only && folders > 0) {
    return count_of(folders, "Python directory", "Python directories") + " could not be read";
  }
  const auto open = std::find_if(
      report.candidates.begin(), report.candidates.end(), [](const Candidate& candidate) {
        return candidate.loaded && candidate.kind == RuntimeKind::undetermined;
      });
  if (open != report.candidates.end()) {
    return "what " + escape_foreign(base_name(open->path)) + " is could not be determined";
  }
  if (snapshot.link_map.reason() == kLoaderHasNotRun) return std::string(kLoaderHasNotRun);
  if (!snapshot.capture.maps_consistent) return "the mappings did not hold still";
  if (const std::string open_profile = undecided_profile(report.selections);
      !open_profile.empty()) {
    return open_profile;
  }
  const ProbeVerdict& probed = report.probe_verdict;
  if (snapshot.probe.decision == ProbeDecision::run && is_unfinished(snapshot.probe, probed)) {
    return "the probe could not be finished: " + probed.sentence;
  }
  if (snapshot.probe.required && report.probe_verdict.outcome == ProbeOutcome::not_run) {
    const std::string& reason = snapshot.probe.reason;
    return "the probe was required and did not run: " + (reason.empty() ? probed.sentence : reason);
  }
  return recording_reason(snapshot);
}

RunEnd end_of(const Verdict& verdict) {
  if (verdict.worst && *verdict.worst >= verdict.fail_on) return RunEnd::findings;
  if (!verdict.undecided.empty()) return RunEnd::undecided;
  return verdict.worst && *verdict.worst >= Severity::warning ? RunEnd::warned : RunEnd::ok;
}

Verdict make_verdict(const Report& report, const JudgeOptions& options) {
  Verdict verdict;
  verdict.fail_on = options.fail_on;
  const bool counts = !report.findings.empty() && report.findings.front().allowed.empty();
  if (counts) verdict.worst = report.findings.front().severity;
  verdict.undecided = undecided_reason(report);
  verdict.end = end_of(verdict);
  verdict.exit_style = options.exit_style;
  verdict.exit_code = exit_code_of(verdict.end, options.exit_style);
  return verdict;
}

/// A row for each profile, after those of the rules.
void add_profiles(Report& report, const std::vector<Profile>& profiles) {
  const std::size_t rules = report.selections.size();
  for (const Profile& profile : profiles) {
    const std::string& wanted = profile.policy.empty() ? report.headline_policy : profile.policy;
    for (std::size_t i = 0; i < rules; ++i) {
      if (report.selections[i].policy != wanted) continue;
      report.selections.push_back(
          follow_with_profile(profile, report.snapshot, report.selections[i]));
      break;
    }
  }
}

}  // namespace

void one_after_the_other(const std::function<void()>& first, const std::function<void()>& second) {
  first();
  second();
}

Report identify(Snapshot snapshot, const JudgeOptions& options, const RunBoth& run_both) {
  Report report;
  report.snapshot = without_recorder(std::move(snapshot));
  // A command without a process to judge: all that is known of it is in the recording.
  if (nobody_judged(report.snapshot)) return report;
  report.candidates = find_candidates(report.snapshot);
  run_both(
      [&] {
        report.consumers = find_consumers(report.snapshot);
        report.selections =
            select_all(PolicyInput{report.snapshot, report.candidates}, report.consumers);
      },
      [&] {
        report.provenance = find_provenance(report.snapshot, report.candidates);
        report.global_names = find_global_names(report.snapshot);
        report.companions = find_companions(report.snapshot);
      });
  const Headline headline = choose_headline(report, options.policy);
  report.headline_policy = headline.policy;
  report.headline_note = headline.note;
  add_profiles(report, options.profiles);
  return report;
}

namespace {

std::vector<Finding> find_all(const Observations& seen) {
  std::vector<Finding> findings;
  for (auto* const family :
       {&judge_runtimes, &judge_selections, &judge_mappings, &judge_driver, &judge_symbols,
        &judge_profiles, &judge_sonames, &judge_origins, &judge_preloads, &judge_nvrtc, &judge_ipc,
        &judge_peers, &judge_interposers, &judge_node}) {
    append_findings(findings, family(seen));
  }
  findings = with_probe(seen, std::move(findings));
  sort_findings(findings);
  return findings;
}

}  // namespace

void judge(Report& report, const JudgeOptions& options) {
  const Observations seen{report.snapshot,  report.candidates, report.companions,
                          report.consumers, report.selections, report.provenance};
  const bool somebody = !nobody_judged(report.snapshot);
  report.driver_absent = somebody && is_driver_absent(seen);
  report.findings = somebody ? find_all(seen) : std::vector<Finding>{};
  AllowedFindings allowed = apply_allowances(std::move(report.findings), options.allowances,
                                             report.snapshot.capture.taken_at);
  report.findings = std::move(allowed.findings);
  report.allowances = std::move(allowed.allowances);
  report.probe_verdict = judge_probe(report);
  report.timeline = make_timeline(report);
  report.verdict = make_verdict(report, options);
}

Report make_report(Snapshot snapshot, const JudgeOptions& options) {
  Report report = identify(std::move(snapshot), options);
  judge(report, options);
  return report;
}

}  // namespace cudart_doctor
