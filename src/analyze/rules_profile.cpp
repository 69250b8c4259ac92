// SY06: names of the user's own list that the runtime which a rule takes does not have.
#include <algorithm>

#include "cudart_doctor/analyze/policy.hpp"
#include "cudart_doctor/analyze/profile.hpp"
#include "cudart_doctor/analyze/rules.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

/// The file that the row ends at, else the text that would be opened; printable.
std::string taken_file(const Snapshot& snapshot, const Selection& row) {
  if (row.object) return escape_foreign(snapshot.objects[*row.object].path());
  return escape_foreign(row.disk_path.value_or(row.chosen_text));
}

/// "cudaA, cudaB and 3 more"
std::string shown_names(const std::vector<std::string>& names, std::size_t most) {
  const std::size_t count = std::min(names.size(), most);
  std::string out = join({names.begin(), names.begin() + static_cast<std::ptrdiff_t>(count)}, ", ");
  if (names.size() > most) out += " and " + std::to_string(names.size() - most) + " more";
  return out;
}

constexpr std::size_t kInHeadline = 2;
constexpr std::size_t kInEvidence = 4;

std::string quoted(const std::string& title) { return '"' + title + '"'; }

std::string rule_of(const Selection& row) {
  return row.vintage.substr(std::string_view("follows ").size());
}

/// What tells where the rule looks.
std::string command_about(const Selection& row) { return "cudart-doctor policies " + rule_of(row); }

Finding start(const Selection& row, const std::string& what) {
  Finding finding =
      start_finding("SY06", Severity::error, "Profile " + quoted(row.title) + ": " + what + ".");
  finding.evidence.push_back(
      "Rule " + rule_of(row) + " takes " +
      (row.chosen_text.empty() ? std::string("nothing") : escape_foreign(row.chosen_text)));
  return finding;
}

Finding lacks_names(const Snapshot& snapshot, const Selection& row) {
  const std::string file = taken_file(snapshot, row);
  Finding finding = start(row, std::string(base_name(file)) + ", which its rule takes, lacks " +
                                   shown_names(row.missing, kInHeadline));
  finding.evidence.insert(finding.evidence.begin(),
                          "Lacks " + shown_names(row.missing, kInEvidence) + ", of " +
                              count_of(row.bound, "name") + ": " + file);
  if (!row.unrecorded.empty()) {
    finding.evidence.push_back("Not recorded, so not known: " +
                               shown_names(row.unrecorded, kInEvidence));
  }
  finding.fixes = {
      "Make the process load a runtime that has them, where the rule looks: " + command_about(row),
      "Or take the names out of the profile, if nothing calls them"};
  return finding;
}

Finding takes_nothing(const Selection& row) {
  Finding finding =
      start(row, row.open == OpenOutcome::fails ? "what its rule takes cannot be opened"
                                                : "its rule takes no runtime");
  if (!row.error_text.empty()) finding.evidence.push_back("Error: " + row.error_text);
  finding.fixes = {"Make a runtime loaded or findable where the rule looks: " + command_about(row)};
  return finding;
}

bool takes_none(const Selection& row) {
  switch (row.outcome) {
    case Outcome::none:
    case Outcome::unexpected_filename:
    case Outcome::no_path:
    case Outcome::not_found:
    case Outcome::multiple:
    case Outcome::aborts: return true;
    case Outcome::selected: return row.open == OpenOutcome::fails;
    case Outcome::undetermined:
    case Outcome::not_applicable: return false;
  }
  return false;
}

}  // namespace

std::vector<Finding> judge_profiles(const Observations& seen) {
  std::vector<Finding> out;
  for (const Selection& row : seen.selections) {
    if (!is_profile_row(row)) continue;
    if (takes_none(row)) {
      out.push_back(takes_nothing(row));
      out.back().policy = row.policy;
    } else if (!row.missing.empty()) {
      out.push_back(lacks_names(seen.snapshot, row));
      out.back().policy = row.policy;
    }
  }
  return out;
}

std::string undecided_profile(const std::vector<Selection>& selections) {
  for (const Selection& row : selections) {
    if (!is_profile_row(row) || takes_none(row) || !row.missing.empty() || row.missing_known) {
      continue;
    }
    std::string why;
    if (row.outcome == Outcome::not_applicable) why = ": its rule has nothing to do here";
    if (!row.unrecorded.empty()) {
      why = ": only names of CUDA's own interfaces are recorded, not " +
            shown_names(row.unrecorded, kInEvidence) +
            "; take what is not CUDA's out of the profile";
    }
    return "whether the runtime has the names of profile " + quoted(row.title) + " is not known" +
           why;
  }
  return {};
}

}  // namespace cudart_doctor
