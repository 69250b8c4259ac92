#include "rule_phrases.hpp"

#include <algorithm>
#include <utility>

#include "cudart_doctor/analyze/file_owner.hpp"
#include "cudart_doctor/analyze/policy.hpp"
#include "cudart_doctor/analyze/remedies.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

void add_once(std::vector<std::string>& list, std::string item) {
  if (item.empty() || std::find(list.begin(), list.end(), item) != list.end()) return;
  list.push_back(std::move(item));
}

/// "FlashInfer 0.6.14", or the releases that have the rule.
std::string who(const Selection& row) {
  if (row.presence == Presence::present) {
    return consumer_phrase(row) + (is_side_rule(row) ? "'s PCIe collectives (b12x)" : "");
  }
  const RuleRemedy* remedy = find_rule_remedy(row.policy);
  return remedy == nullptr ? row.title : std::string(remedy->affected);
}

std::string answer_of(const Selection& row) {
  if (!row.error_text.empty()) {
    return (row.error_type.empty() ? "" : row.error_type + ": ") + row.error_text;
  }
  if (row.chosen_text.empty()) return "no answer";
  return "opens " + escape_foreign(row.chosen_text) +
         (row.open == OpenOutcome::old_object && row.missing_known ? ", binds without an error"
                                                                   : "");
}

std::string file_of(const Snapshot& snapshot, std::size_t object) {
  return escape_foreign(base_name(snapshot.objects[object].path()));
}

/// "a, b, c and 4 more"
std::string first_ones(std::vector<std::string> items) {
  constexpr std::size_t kMost = 3;
  const std::size_t rest = items.size() > kMost ? items.size() - kMost : 0;
  items.resize(items.size() - rest);
  return join(items, ", ") + (rest == 0 ? "" : " and " + std::to_string(rest) + " more");
}

}  // namespace

Rows scanning_rows(const Observations& seen) {
  constexpr int kRanks = 4;
  const auto rank_of = [](const Selection& selection) {
    if (selection.presence == Presence::absent) return 3;
    if (is_side_rule(selection)) return 2;
    return selection.presence == Presence::present ? 0 : 1;
  };
  Rows out;
  for (int rank = 0; rank < kRanks; ++rank) {
    for (const Selection& selection : seen.selections) {
      const Policy* policy = find_policy(selection.policy);
      if (policy != nullptr && policy->scans_addresses && rank_of(selection) == rank) {
        out.push_back(&selection);
      }
    }
  }
  return out;
}

Rows leading_rows(const Rows& rows) {
  Rows out;
  for (const Selection* row : rows) {
    const bool alike = row->presence == rows.front()->presence &&
                       counts_in_full(*row) == counts_in_full(*rows.front());
    if (alike) out.push_back(row);
  }
  return out;
}

const Candidate* candidate_of(const Observations& seen, const Selection& row) {
  if (!row.object) return nullptr;
  const auto found =
      std::find_if(seen.candidates.begin(), seen.candidates.end(),
                   [&](const Candidate& c) { return c.object && *c.object == *row.object; });
  return found == seen.candidates.end() ? nullptr : &*found;
}

void append(std::vector<std::string>& to, std::vector<std::string> more) {
  for (std::string& item : more) to.push_back(std::move(item));
}

std::string listed(const std::vector<std::string>& items, std::string_view conjunction) {
  if (items.size() < 2) return items.empty() ? std::string() : items.front();
  const std::vector<std::string> head(items.begin(), items.end() - 1);
  return join(head, ", ") + " " + std::string(conjunction) + " " + items.back();
}

std::string subject_of(const Rows& rows, std::string_view conjunction) {
  const bool only_side = std::all_of(rows.begin(), rows.end(),
                                     [](const Selection* row) { return is_side_rule(*row); });
  std::vector<std::string> names;
  for (const Selection* row : rows) {
    if (only_side || !is_side_rule(*row)) add_once(names, who(*row));
  }
  // Every release of a consumer: its bare name says so.
  for (const std::string_view name : {"vLLM", "SGLang", "FlashInfer"}) {
    const auto is_range = [&](const std::string& text) {
      return text.starts_with(name) && (text.find(" before ") != std::string::npos ||
                                        text.find(" and later") != std::string::npos);
    };
    if (std::count_if(names.begin(), names.end(), is_range) < 2) continue;
    const auto first = std::find_if(names.begin(), names.end(), is_range);
    *first = std::string(name);
    names.erase(std::remove_if(std::next(first), names.end(),
                               [&](const std::string& text) { return text.starts_with(name); }),
                names.end());
  }
  return listed(names, conjunction);
}

std::string sentence_about(const Rows& rows, std::string_view predicate) {
  if (rows.front()->presence == Presence::present) {
    return subject_of(rows, "and") + " " + std::string(predicate) + ".";
  }
  // The consumer is here, and only its vintage is not known.
  const std::string& note = rows.front()->presence_note;
  const bool one_note = std::all_of(
      rows.begin(), rows.end(), [&](const Selection* row) { return row->presence_note == note; });
  if (one_note && !note.empty()) {
    return "If " + note + ", scans like " + subject_of(rows, "or") + ", it " +
           std::string(predicate) + ".";
  }
  return "If " + subject_of(rows, "or") + " runs here, it " + std::string(predicate) + ".";
}

std::vector<std::string> answer_sentences(const Rows& rows) {
  std::vector<std::pair<std::string, Rows>> answers;
  for (const Selection* row : rows) {
    std::string answer = answer_of(*row);
    auto found = std::find_if(answers.begin(), answers.end(),
                              [&](const auto& known) { return known.first == answer; });
    if (found == answers.end()) {
      answers.push_back({std::move(answer), {}});
      found = std::prev(answers.end());
    }
    found->second.push_back(row);
  }
  std::vector<std::string> out;
  for (const auto& [answer, group] : answers)
    out.push_back(subject_of(group, "and") + ": " + answer);
  return out;
}

std::string failure_effect_of(const Rows& rows) {
  const Selection& first = *rows.front();
  const bool several = std::any_of(rows.begin(), rows.end(), [&](const Selection* row) {
    return row->consumer != first.consumer;
  });
  if (several) return "once bound: fused and custom all-reduce off until restart";
  return std::string(failure_effect(first.policy, first.consumer));
}

std::string helpful_releases(const Observations& seen, const Rows& rows,
                             bool (*helps)(const Observations& seen, const Selection& row)) {
  std::vector<std::string> out;
  for (const Selection* row : rows) {
    const RuleRemedy* remedy = find_rule_remedy(row->policy);
    if (remedy == nullptr || remedy->successor.empty()) continue;
    const auto successor = std::find_if(
        seen.selections.begin(), seen.selections.end(),
        [&](const Selection& selection) { return selection.policy == remedy->successor; });
    if (successor == seen.selections.end() || !helps(seen, *successor)) continue;
    add_once(out, std::string(remedy->release));
  }
  return join(out, ", ");
}

std::vector<std::string> futile_overrides(const Rows& rows) {
  std::vector<std::string> out;
  for (const Selection* row : rows) add_once(out, std::string(futile_override(row->consumer)));
  if (out.size() < 2) return out;
  return {"VLLM_CUDART_SO_PATH: only vLLM reads it, and only when its scan finds nothing"};
}

std::string slot_users(const Snapshot& snapshot, const std::vector<SlotUse>& uses) {
  std::vector<SlotUse> sorted = uses;
  std::ranges::sort(sorted, [](const SlotUse& a, const SlotUse& b) {
    const std::size_t left = a.names.size();
    const std::size_t right = b.names.size();
    return left != right ? left > right : a.object < b.object;
  });
  std::vector<std::string> names;
  for (const SlotUse& use : sorted) {
    names.push_back(file_of(snapshot, use.object) + " (" + count_of(use.names.size(), "name") +
                    ")");
  }
  return first_ones(std::move(names));
}

const Provenance* provenance_of(const Observations& seen, const Candidate& candidate) {
  const auto at = std::find_if(seen.candidates.begin(), seen.candidates.end(),
                               [&](const Candidate& each) { return &each == &candidate; });
  const auto index = static_cast<std::size_t>(at - seen.candidates.begin());
  return index < seen.provenance.size() ? &seen.provenance[index] : nullptr;
}

std::vector<std::string> user_phrases(const Observations& seen, const Candidate& candidate) {
  const Provenance* brought = provenance_of(seen, candidate);
  if (brought == nullptr) return {};
  const Provenance& provenance = *brought;
  std::vector<std::string> out;
  std::vector<std::string> needers;
  for (const NeededBy& each : provenance.needed_by) {
    needers.push_back(file_of(seen.snapshot, each.object));
  }
  if (!needers.empty()) out.push_back("needed by " + first_ones(std::move(needers)));
  if (provenance.arrival == Arrival::preload) {
    out.push_back("preloaded (" + provenance.arrival_note + ")");
  }
  if (provenance.arrival == Arrival::opened) out.emplace_back("opened with dlopen");
  const std::string users = slot_users(seen.snapshot, provenance.used_by);
  if (!users.empty()) out.push_back("used by " + users);
  return out;
}

std::string look_alike_phrase(const Candidate& candidate) {
  const std::string file = escape_foreign(base_name(candidate.path));
  if (candidate.label == "TileLang shim") return "TileLang's stub " + file;
  if (candidate.label.empty()) return "the look-alike " + file;
  return "the " + candidate.label + " " + file;
}

std::string look_alike_remedy(const Snapshot& snapshot, const Candidate& candidate) {
  const FileOwner* owner = find_owner(snapshot, candidate.path);
  if (candidate.label == "TileLang shim") {
    std::string here;
    // A project that bundles TileLang has releases of its own: they are not named.
    if (owner != nullptr && owner->package == "tilelang") {
      here = " (" + package_command(*owner, PackageStep::upgrade) + "; here " +
             escape_foreign(owner->version) + ")";
    } else if (!candidate.package.empty()) {
      here = " (here: " + escape_foreign(candidate.package) + ")";
    }
    return "TileLang 0.1.12 or later" + here + ": no rule takes its renamed stub";
  }
  if (owner != nullptr) {
    const std::string command = package_command(*owner, PackageStep::remove);
    return "Upgrade or remove " + package_phrase(*owner) +
           (command.empty() ? std::string() : ": " + command);
  }
  if (is_unowned(snapshot, candidate.path)) {
    return "Remove " + escape_foreign(candidate.path) + ": no package owns it";
  }
  return "Upgrade or remove " + (candidate.package.empty()
                                     ? "the package of " + escape_foreign(candidate.path)
                                     : escape_foreign(candidate.package));
}

std::string origin_phrase(const Candidate& candidate) {
  return escape_foreign(candidate.package.empty() ? candidate.path : candidate.package);
}

std::vector<std::string> lost_file_remedies(const Observations& seen, std::size_t object) {
  if (seen.snapshot.objects[object].state == FileState::replaced) {
    return {"Restart all ranks: they then load what is on disk now"};
  }
  const std::string how = command_or(seen.snapshot, seen.snapshot.objects[object].path(),
                                     PackageStep::reinstall, "reinstall its package");
  return {"Put the file back first (" + how + ")", "Then restart all ranks"};
}

}  // namespace cudart_doctor
