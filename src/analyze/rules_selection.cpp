// RT04, RT07, RT08: what the address-ordered rules of the scanning consumers do here. Rows of
// consumers that are absent, or present in another vintage, count as information at most.
#include <algorithm>

#include "cudart_doctor/analyze/policy.hpp"
#include "cudart_doctor/analyze/remedies.hpp"
#include "cudart_doctor/analyze/rules.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

const Candidate* candidate_of(const Observations& seen, const Selection& selection) {
  if (!selection.object) return nullptr;
  const auto found =
      std::find_if(seen.candidates.begin(), seen.candidates.end(), [&](const Candidate& c) {
        return c.object && *c.object == *selection.object;
      });
  return found == seen.candidates.end() ? nullptr : &*found;
}

/// The scanning rows, those that count in full first and present ones before unknown ones.
std::vector<const Selection*> scanning_rows(const Observations& seen) {
  std::vector<const Selection*> out;
  for (const Selection& selection : seen.selections) {
    const Policy* policy = find_policy(selection.policy);
    if (policy != nullptr && policy->scans_addresses) out.push_back(&selection);
  }
  const auto rank = [](const Selection* selection) {
    if (is_side_rule(*selection)) return 2;
    if (selection->presence == Presence::present) return 0;
    return selection->presence == Presence::unknown ? 1 : 2;
  };
  std::stable_sort(out.begin(), out.end(),
                   [&](const auto* a, const auto* b) { return rank(a) < rank(b); });
  return out;
}

std::string_view consumer_of(const Selection& selection) {
  const Policy* policy = find_policy(selection.policy);
  return policy == nullptr ? std::string_view() : policy->consumer;
}

/// Fixed releases of the consumers behind `rows`, each once; only those that count in full unless
/// none does.
std::vector<std::string> upgrades(const std::vector<const Selection*>& rows) {
  std::vector<std::string> out;
  for (const Selection* row : rows) {
    if (counts_in_full(*rows.front()) && !counts_in_full(*row)) continue;
    // No release has mended a side rule: the one for the main rule is no remedy.
    if (is_side_rule(*row)) continue;
    std::string fixed = fixed_release(consumer_of(*row));
    if (fixed.empty() || std::find(out.begin(), out.end(), fixed) != out.end()) continue;
    out.push_back(std::move(fixed));
  }
  return out;
}

/// "FlashInfer 0.6.14", "FlashInfer to 0.7.0, if it runs here", "..., which is not in this process".
std::string subject_of(const Selection& row) {
  std::string subject = consumer_phrase(row);
  if (row.presence == Presence::unknown) subject += ", if it runs here,";
  if (row.presence == Presence::absent) subject += ", not in this process,";
  return subject;
}

std::string answer_line(const Selection& row) {
  std::string line = consumer_phrase(row) + ": ";
  if (row.presence == Presence::unknown) line = "If it runs here, " + line;
  if (row.presence == Presence::absent) line = "Not in this process: " + line;
  if (!row.error_text.empty()) return line + row.error_text;
  return line + (row.chosen_text.empty() ? "no answer" : escape_foreign(row.chosen_text));
}

std::vector<std::string> answer_lines(const std::vector<const Selection*>& rows) {
  std::vector<std::string> out;
  for (const Selection* row : rows) {
    if (counts_in_full(*rows.front()) && !counts_in_full(*row)) continue;
    std::string line = answer_line(*row);
    if (std::find(out.begin(), out.end(), line) == out.end()) out.push_back(std::move(line));
  }
  return out;
}

Finding selected_look_alike(const Observations& seen, const Candidate& candidate,
                            const std::vector<const Selection*>& rows) {
  const Selection& first = *rows.front();
  const std::string what = candidate.label.empty() ? "a look-alike" : "the " + candidate.label;
  Finding finding = start_finding(
      "RT04", counts_in_full(first) ? Severity::critical : Severity::info,
      subject_of(first) + " would take " + what + " for the CUDA runtime.");
  finding.consumer = consumer_phrase(first);
  finding.effect = first.missing.empty() && first.error_text.empty()
                       ? "binds silently; every call goes through the look-alike"
                       : failure_effect(consumer_of(first));
  const LoadedObject& object = seen.snapshot.objects[*candidate.object];
  finding.evidence.push_back("Taken: " + escape_foreign(candidate.path) + " at " +
                             shown_address(object.lowest));
  for (const Candidate& other : seen.candidates) {
    if (!other.loaded || other.kind != RuntimeKind::genuine) continue;
    finding.evidence.push_back("Shadowed: " + escape_foreign(other.path) + " at " +
                               shown_address(seen.snapshot.objects[*other.object].lowest) +
                               (other.version.empty() ? "" : ", version " + other.version));
  }
  for (std::string& line : answer_lines(rows)) finding.evidence.push_back(std::move(line));
  for (std::string& fix : upgrades(rows)) finding.fixes.push_back(std::move(fix));
  if (candidate.label == "TileLang shim") {
    finding.fixes.emplace_back(
        "Or TileLang 0.1.12 or later, whose shim has a name that no rule takes");
  } else {
    finding.fixes.push_back("Or remove " + (candidate.package.empty()
                                                ? escape_foreign(candidate.path)
                                                : escape_foreign(candidate.package)));
  }
  finding.fixes.emplace_back("Restart all ranks");
  finding.no_help = futile_overrides(consumer_of(first));
  return finding;
}

std::vector<Finding> judge_look_alike_selected(const Observations& seen,
                                               const std::vector<const Selection*>& rows) {
  std::vector<Finding> out;
  for (const Candidate& candidate : seen.candidates) {
    if (!is_look_alike(candidate)) continue;
    std::vector<const Selection*> takers;
    for (const Selection* row : rows) {
      if (row->outcome == Outcome::selected && row->object == candidate.object) {
        takers.push_back(row);
      }
    }
    if (!takers.empty()) out.push_back(selected_look_alike(seen, candidate, takers));
  }
  return out;
}

std::vector<Finding> judge_order(const Observations& seen,
                                 const std::vector<const Selection*>& rows) {
  std::vector<const Selection*> unstable;
  for (const Selection* row : rows) {
    if (row->stability == Stability::order_dependent) unstable.push_back(row);
  }
  if (unstable.empty()) return {};
  const Selection& first = *unstable.front();
  Finding finding = start_finding(
      "RT07", counts_in_full(first) ? Severity::warning : Severity::info,
      "Which runtime " + subject_of(first) +
          " takes depends on address order: another start may differ.");
  finding.consumer = consumer_phrase(first);
  for (const Candidate& candidate : seen.candidates) {
    if (!candidate.object) continue;
    finding.evidence.push_back(
        "By address: " + shown_address(seen.snapshot.objects[*candidate.object].lowest) + " " +
        escape_foreign(candidate.path));
  }
  for (const Selection* row : unstable) {
    if (counts_in_full(first) && !counts_in_full(*row)) continue;
    finding.evidence.push_back(answer_line(*row) + "; other orders: " +
                               join(row->other_answers, ", "));
  }
  for (std::string& fix : upgrades(unstable)) finding.fixes.push_back(std::move(fix));
  finding.fixes.emplace_back("Keep all but one of the candidates out of the process");
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

std::vector<Finding> judge_missed(const Observations& seen,
                                  const std::vector<const Selection*>& rows) {
  const auto genuine =
      std::find_if(seen.candidates.begin(), seen.candidates.end(), [](const Candidate& c) {
        return c.loaded && c.kind == RuntimeKind::genuine;
      });
  if (genuine == seen.candidates.end()) return {};
  std::vector<const Selection*> missing;
  for (const Selection* row : rows) {
    if (!misses(*row)) continue;
    const Candidate* taken = candidate_of(seen, *row);
    if (taken != nullptr && is_look_alike(*taken)) continue;
    missing.push_back(row);
  }
  if (missing.empty()) return {};
  const Selection& first = *missing.front();
  Finding finding = start_finding(
      "RT08", counts_in_full(first) ? Severity::error : Severity::info,
      subject_of(first) + " would not find the runtime that is mapped.");
  finding.consumer = consumer_phrase(first);
  finding.effect = failure_effect(consumer_of(first));
  finding.evidence.push_back("Mapped: " + escape_foreign(genuine->path) +
                             (genuine->version.empty() ? "" : ", version " + genuine->version));
  for (std::string& line : answer_lines(missing)) finding.evidence.push_back(std::move(line));
  const LoadedObject& object = seen.snapshot.objects[*genuine->object];
  if (object.state == FileState::deleted || object.state == FileState::replaced) {
    finding.fixes.emplace_back("Restart the process: its runtime's file is gone");
  }
  if (object.state == FileState::memory) {
    finding.fixes.emplace_back("Load the runtime from a file");
  }
  for (std::string& fix : upgrades(missing)) finding.fixes.push_back(std::move(fix));
  if (consumer_of(first) == "vllm" && first.outcome == Outcome::none) {
    finding.fixes.push_back("Or set VLLM_CUDART_SO_PATH=" + escape_foreign(genuine->path));
  } else {
    finding.no_help = futile_overrides(consumer_of(first));
  }
  return {std::move(finding)};
}

}  // namespace

std::vector<Finding> judge_selections(const Observations& seen) {
  const auto rows = scanning_rows(seen);
  std::vector<Finding> out = judge_look_alike_selected(seen, rows);
  for (Finding& finding : judge_order(seen, rows)) out.push_back(std::move(finding));
  for (Finding& finding : judge_missed(seen, rows)) out.push_back(std::move(finding));
  return out;
}

}  // namespace cudart_doctor
