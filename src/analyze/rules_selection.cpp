// RT04, RT07, RT08: what the address-ordered rules of the scanning consumers do here. Only rows of
// consumers that are present, or cannot be excluded, raise a finding in full. What rows of absent
// consumers would do stays in the table of selections; of it only a look-alike is worth a word,
// since the next downgrade would hit it.
#include <algorithm>
#include <iterator>

#include "cudart_doctor/analyze/objects_view.hpp"
#include "cudart_doctor/analyze/policy.hpp"
#include "cudart_doctor/analyze/rules.hpp"
#include "cudart_doctor/base/text.hpp"
#include "probe_view.hpp"
#include "rule_phrases.hpp"

namespace cudart_doctor {
namespace {

constexpr std::string_view kRestart = "Restart all ranks: a failed binding is not tried again";

bool takes_a_runtime(const Observations& seen, const Selection& row) {
  const Candidate* taken = candidate_of(seen, row);
  return row.works() && (taken == nullptr || !is_look_alike(*taken));
}

bool is_stable(const Observations&, const Selection& row) {
  return row.stability == Stability::stable;
}

std::string placed(const Observations& seen, const Candidate& candidate) {
  return escape_foreign(candidate.path) +
         (candidate.version.empty() ? "" : " (" + candidate.version + ")") + " at " +
         shown_address(seen.snapshot.objects[*candidate.object].lowest);
}

std::vector<std::string> passed_over(const Observations& seen) {
  std::vector<std::string> out;
  for (const Candidate* runtime : distinct_runtimes(seen.snapshot, seen.candidates)) {
    out.push_back("Passed over: the real " + placed(seen, *runtime));
  }
  return out;
}

/// A rule of an experimental part that few use is worth knowing, and no reason to stop a launch.
Finding selected_look_alike(const Observations& seen, const Candidate& candidate,
                            const Rows& rows) {
  const Rows leading = leading_rows(rows);
  const Selection& first = *leading.front();
  Finding finding =
      start_finding("RT04", counts_in_full(first) ? Severity::critical : Severity::info,
                    sentence_about(leading, "would take " + look_alike_phrase(candidate) +
                                                " for the CUDA runtime"));
  finding.consumer = consumer_phrase(first);
  finding.policy = first.policy;
  finding.effect = first.works() && first.missing_known
                       ? "it binds without an error; every CUDA call goes through the look-alike"
                       : failure_effect_of(leading);
  finding.evidence = answer_sentences(leading);
  finding.evidence.insert(std::next(finding.evidence.begin()), "Taken: " + placed(seen, candidate));
  append(finding.evidence, passed_over(seen));
  if (!candidate.missing.empty()) {
    finding.evidence.push_back("The look-alike lacks " + join(candidate.missing, ", "));
  }
  append(finding.evidence, probe_sentences(seen, candidate));
  finding.fixes.push_back(look_alike_remedy(seen.snapshot, candidate));
  const std::string releases = helpful_releases(seen, leading, takes_a_runtime);
  if (!releases.empty()) finding.fixes.push_back("Or " + releases);
  finding.fixes.emplace_back(kRestart);
  finding.no_help = futile_overrides(leading);
  return finding;
}

/// Nothing that is here takes it; releases that are not here would.
std::vector<Finding> spared_look_alike(const Observations& seen, const Candidate& candidate,
                                       const Rows& rows) {
  Rows released;
  for (const Selection* row : rows) {
    const Policy* policy = find_policy(row->policy);
    if (policy != nullptr && policy->released) released.push_back(row);
  }
  if (released.empty()) return {};
  Finding finding = start_finding("RT04", Severity::info,
                                  "Nothing in this process takes " + look_alike_phrase(candidate) +
                                      "; " + subject_of(released, "and") + " would.");
  finding.effect = "none here; a downgrade, or one of these beside it, would fail";
  finding.evidence.push_back("Mapped: " + escape_foreign(candidate.path));
  finding.fixes = {look_alike_remedy(seen.snapshot, candidate)};
  return {std::move(finding)};
}

std::vector<Finding> judge_look_alike_selected(const Observations& seen, const Rows& rows) {
  std::vector<Finding> out;
  for (const Candidate& candidate : seen.candidates) {
    if (!is_look_alike(candidate)) continue;
    Rows takers;
    for (const Selection* row : rows) {
      if (row->outcome == Outcome::selected && row->object == candidate.object) {
        takers.push_back(row);
      }
    }
    if (takers.empty()) continue;
    if (takers.front()->presence != Presence::absent) {
      out.push_back(selected_look_alike(seen, candidate, takers));
    } else {
      append_findings(out, spared_look_alike(seen, candidate, takers));
    }
  }
  return out;
}

std::vector<std::string> candidates_in_order(const Observations& seen) {
  std::vector<std::string> out;
  std::vector<std::string> by_address;
  for (const Candidate& candidate : seen.candidates) {
    if (candidate.object) by_address.push_back(placed(seen, candidate));
  }
  out.push_back("By address: " + join(by_address, ", "));
  if (base_link_map(seen.snapshot) == nullptr) return out;
  std::vector<std::string> by_load;
  for (const std::size_t object : loaded_objects(seen.snapshot)) {
    const auto found =
        std::find_if(seen.candidates.begin(), seen.candidates.end(),
                     [&](const Candidate& c) { return c.object && *c.object == object; });
    if (found != seen.candidates.end()) by_load.push_back(escape_foreign(found->path));
  }
  out.push_back("By order of loading: " + join(by_load, ", "));
  return out;
}

/// "now PATH; with other addresses: PATH, nothing found"
std::string other_orders(const Selection& row) {
  std::vector<std::string> others;
  for (const std::string& answer : row.other_answers) others.push_back(escape_foreign(answer));
  const std::string now =
      row.outcome == Outcome::selected ? escape_foreign(row.chosen_text) : row.error_text;
  return "now " + now + "; with other addresses: " + join(others, ", ");
}

std::vector<Finding> judge_order(const Observations& seen, const Rows& rows) {
  Rows unstable;
  for (const Selection* row : rows) {
    if (row->stability == Stability::order_dependent && counts_in_full(*row)) {
      unstable.push_back(row);
    }
  }
  if (unstable.empty()) return {};
  const Rows leading = leading_rows(unstable);
  Finding finding = start_finding(
      "RT07", Severity::warning,
      sentence_about(leading,
                     "may take another runtime at the next start: the first by address wins"));
  finding.consumer = consumer_phrase(*leading.front());
  finding.policy = leading.front()->policy;
  std::vector<std::string> known;
  for (const Selection* row : leading) {
    std::string orders = other_orders(*row);
    if (std::find(known.begin(), known.end(), orders) != known.end()) continue;
    finding.evidence.push_back(subject_of({row}, "and") + ": " + orders);
    known.push_back(std::move(orders));
  }
  append(finding.evidence, candidates_in_order(seen));
  const Recording* recording = seen.snapshot.recording.get();
  if (recording != nullptr && !recording->recorder.empty()) {
    finding.evidence.emplace_back(
        "Recorded: the recorder's own library is mapped too, and the addresses may differ without "
        "it");
  }
  std::vector<std::string> keep;
  bool look_alike = false;
  for (const Candidate& candidate : seen.candidates) {
    if (is_look_alike(candidate) && candidate.selectable_by_name) {
      finding.fixes.push_back(look_alike_remedy(seen.snapshot, candidate));
      look_alike = true;
    }
  }
  const std::string releases = helpful_releases(seen, leading, is_stable);
  if (!releases.empty()) finding.fixes.push_back((look_alike ? "Or " : "") + releases);
  for (const Candidate* runtime : distinct_runtimes(seen.snapshot, seen.candidates)) {
    keep.push_back(origin_phrase(*runtime));
  }
  if (keep.size() > 1) {
    finding.fixes.push_back("Let the process load only one of " + listed(keep, "and"));
  }
  if (finding.fixes.empty()) {
    finding.fixes.emplace_back("Move what only bears the name, or upgrade the consumer");
  }
  finding.no_help = futile_overrides(leading);
  return {std::move(finding)};
}

/// True when the rule ends without a usable runtime although one is mapped. A look-alike that is
/// taken is RT04's business.
bool misses(const Selection& row) {
  switch (row.outcome) {
    case Outcome::none:
    case Outcome::unexpected_filename:
    case Outcome::no_path: return true;
    case Outcome::selected: return row.open == OpenOutcome::fails;
    default: return false;
  }
}

/// Why the rule does not end at the runtime: its own note on the runtime's line, or on the line
/// at which it stopped.
std::string reason_of(const Selection& row, const Candidate& runtime) {
  if (row.open == OpenOutcome::fails && !row.open_note.empty()) return row.open_note;
  const Step* stopped = nullptr;
  for (const Step& step : row.steps) {
    if (step.verdict != StepVerdict::rejected) continue;
    stopped = &step;
    if (step.subject.starts_with(runtime.path)) break;
  }
  if (stopped == nullptr) return {};
  return escape_foreign(base_name(stopped->subject)) + ": " + stopped->reason;
}

std::vector<Finding> judge_missed(const Observations& seen, const Rows& rows) {
  const auto runtimes = distinct_runtimes(seen.snapshot, seen.candidates);
  if (runtimes.empty()) return {};
  const Candidate& genuine = *runtimes.front();
  Rows missing;
  for (const Selection* row : rows) {
    if (!misses(*row) || !counts_in_full(*row)) continue;
    const Candidate* taken = candidate_of(seen, *row);
    if (taken == nullptr || !is_look_alike(*taken)) missing.push_back(row);
  }
  if (missing.empty()) return {};
  const Rows leading = leading_rows(missing);
  const Selection& first = *leading.front();
  Finding finding = start_finding(
      "RT08", Severity::error,
      sentence_about(leading, "would fail to open a CUDA runtime, though one is mapped"));
  finding.consumer = consumer_phrase(first);
  finding.policy = first.policy;
  finding.effect = failure_effect_of(leading);
  append(finding.evidence, answer_sentences(leading));
  const std::string reason = reason_of(first, genuine);
  if (!reason.empty()) finding.evidence.push_back("Why: " + reason);
  for (const Candidate* runtime : runtimes) {
    finding.evidence.push_back("Mapped: " + placed(seen, *runtime));
  }
  const LoadedObject& object = seen.snapshot.objects[*genuine.object];
  const std::string releases = helpful_releases(seen, leading, takes_a_runtime);
  if (object.state == FileState::deleted || object.state == FileState::replaced) {
    append(finding.fixes, lost_file_remedies(seen, *genuine.object));
  }
  if (object.state == FileState::memory) {
    finding.fixes.emplace_back("Load the runtime from a file, not from memory");
  }
  if (!releases.empty()) finding.fixes.push_back(releases);
  const bool override_is_read = first.consumer == "vllm" && first.outcome == Outcome::none;
  if (override_is_read && object.state == FileState::same) {
    finding.fixes.push_back("Set VLLM_CUDART_SO_PATH=" + escape_foreign(genuine.path) +
                            " and restart");
  } else if (override_is_read) {
    finding.fixes.emplace_back("Set VLLM_CUDART_SO_PATH to a libcudart on disk and restart");
  } else {
    finding.no_help = futile_overrides(leading);
  }
  if (finding.fixes.empty()) {
    finding.fixes.push_back("Load a libcudart under its plain name (libcudart.so.12) instead of " +
                            escape_foreign(base_name(genuine.path)));
  }
  return {std::move(finding)};
}

/// Rows of installed consumers whose rule takes any file that is named like a runtime.
Rows undiscerning(const Rows& rows) {
  Rows out;
  for (const Selection* row : rows) {
    const bool old_scan = row->policy.find("-legacy") != std::string::npos;
    if (old_scan && row->presence == Presence::present) out.push_back(row);
  }
  return out;
}

/// No program was started, so nothing decides which library would lie lower: an installed
/// look-alike beside an installed consumer that takes it by name is trouble that waits for the
/// program that loads both.
std::vector<Finding> judge_installed(const Observations& seen, const Rows& rows) {
  const Rows takers = undiscerning(rows);
  if (!seen.snapshot.environment_only || takers.empty()) return {};
  std::vector<Finding> out;
  for (const Candidate& candidate : seen.candidates) {
    if (candidate.object || !is_fake(candidate.kind) || !candidate.selectable_by_name) continue;
    Finding finding =
        start_finding("RT04", Severity::error,
                      subject_of(takers, "and") + " would take " + look_alike_phrase(candidate) +
                          " in a program that loads both: both are installed here.");
    finding.consumer = consumer_phrase(*takers.front());
    finding.policy = takers.front()->policy;
    finding.effect = failure_effect_of(takers);
    finding.evidence.push_back("Installed, not loaded by this look: " +
                               escape_foreign(candidate.path));
    if (!candidate.missing.empty()) {
      finding.evidence.push_back("The look-alike lacks " + join(candidate.missing, ", "));
    }
    finding.evidence.emplace_back("Which one a program gets depends on address order");
    finding.fixes.push_back(look_alike_remedy(seen.snapshot, candidate));
    const std::string releases = helpful_releases(seen, takers, takes_a_runtime);
    if (!releases.empty()) finding.fixes.push_back("Or " + releases);
    finding.no_help = futile_overrides(takers);
    out.push_back(std::move(finding));
  }
  return out;
}

}  // namespace

std::vector<Finding> judge_selections(const Observations& seen) {
  const Rows rows = scanning_rows(seen);
  std::vector<Finding> out = judge_look_alike_selected(seen, rows);
  append_findings(out, judge_order(seen, rows));
  append_findings(out, judge_missed(seen, rows));
  append_findings(out, judge_installed(seen, rows));
  return out;
}

}  // namespace cudart_doctor
