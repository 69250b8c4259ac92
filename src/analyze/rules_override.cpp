// RT11: variables that name a runtime, and are not read or lead nowhere.
#include "rules_override.hpp"

#include <algorithm>
#include <utility>

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

Finding ineffective(Severity severity, std::string_view variable, std::string_view why,
                    const std::string& value) {
  Finding finding = start_finding("RT11", severity,
                                  std::string(variable) + " is set, but " + std::string(why) + ".");
  finding.effect = "the runtime that was asked for is not the one that is used";
  finding.evidence.push_back(std::string(variable) + "=" + escape_foreign(value));
  return finding;
}

/// A name with a slash that does not begin with one: the target resolves it against its own
/// directory, which is not captured.
bool is_relative_path(std::string_view value) {
  return !value.starts_with('/') && value.find('/') != std::string_view::npos;
}

/// Whether a load of `value` gives the file that the row takes: by its text, or as a link to it.
bool leads_to_taken(const Snapshot& snapshot, const std::string& value, const Selection& row) {
  if (row.chosen_text == value) return true;
  const auto entry = snapshot.disk.find(value);
  if (!row.object || entry == snapshot.disk.end() || entry->second.kind != DiskKind::file) {
    return false;
  }
  const LoadedObject& object = snapshot.objects[*row.object];
  if (object.state != FileState::same) return false;
  return entry->second.key == object.key ||
         (!entry->second.real_path.empty() && entry->second.real_path == object.path());
}

/// What is known of the file that the value names.
std::string soundness_of(const Snapshot& snapshot, const std::string& value) {
  if (value.empty()) return "The value is empty: vLLM would open the main program";
  if (is_relative_path(value)) {
    return "Whether there is such a file is not known: the target's directory was not captured";
  }
  const auto entry = snapshot.disk.find(value);
  const bool is_file = entry != snapshot.disk.end() && entry->second.kind == DiskKind::file;
  return is_file && value.starts_with('/') ? "The value is sound: there is a file of that name"
                                           : "Whether the value leads to a file is not known";
}

/// RT11 for VLLM_CUDART_SO_PATH, the one override that a scanning consumer reads.
std::vector<Finding> judge_vllm_override(const Observations& seen) {
  constexpr std::string_view kVariable = "VLLM_CUDART_SO_PATH";
  const Environment* environment = seen.snapshot.environment.get();
  const std::string* value = environment == nullptr ? nullptr : environment->find(kVariable);
  if (value == nullptr) return {};
  const Rows vllm = counting_rows(seen, "vllm");
  if (vllm.empty()) {
    const Rows others = counting_rows(seen, {});
    Finding finding = ineffective(others.empty() ? Severity::info : Severity::warning, kVariable,
                                  "vLLM, which alone reads it, is not in this process", *value);
    finding.effect = "none: no other consumer reads it";
    finding.fixes = {"Unset it"};
    return {std::move(finding)};
  }
  const auto entry = seen.snapshot.disk.find(*value);
  // An empty value opens the main program, and a bare name is searched for by the loader.
  const bool missing = value->starts_with('/') && entry != seen.snapshot.disk.end() &&
                       entry->second.kind == DiskKind::absent;
  if (missing) {
    Finding finding =
        ineffective(Severity::error, kVariable, "there is no file of that name", *value);
    finding.evidence.emplace_back("Nothing is at that path in the target's view");
    finding.fixes = {"Correct the path, or unset the variable"};
    return {std::move(finding)};
  }
  const auto outranked = std::find_if(vllm.begin(), vllm.end(), [&](const Selection* row) {
    return row->outcome != Outcome::none && !leads_to_taken(seen.snapshot, *value, *row);
  });
  if (outranked == vllm.end()) return {};
  Finding finding =
      ineffective(Severity::warning, kVariable, "vLLM's scan finds a match before it", *value);
  const Selection& row = **outranked;
  finding.consumer = consumer_phrase(row);
  const Candidate* taken = candidate_of(seen, row);
  finding.evidence.push_back("The scan stops at " + (taken != nullptr
                                                         ? escape_foreign(taken->path)
                                                         : escape_foreign(row.chosen_text)));
  finding.evidence.emplace_back("vLLM reads the variable only when its scan finds nothing");
  finding.evidence.push_back(soundness_of(seen.snapshot, *value));
  finding.fixes = {"Unset it, or keep what the scan finds out of the process"};
  return {std::move(finding)};
}

/// RT11 for cuDNN's front end: releases before 1.25.0 do not know the variable.
std::vector<Finding> judge_frontend_override(const Observations& seen) {
  const std::string* value = frontend_override(seen.snapshot);
  if (value == nullptr) return {};
  const auto old =
      std::find_if(seen.selections.begin(), seen.selections.end(), [](const Selection& row) {
        return row.policy == "cudnn-frontend" && row.presence == Presence::present;
      });
  if (old == seen.selections.end()) return {};
  Finding finding = ineffective(Severity::warning, "CUDNN_FRONTEND_CUDART_LIB_NAME",
                                "the cuDNN front end here does not read it", *value);
  finding.consumer = consumer_phrase(*old);
  finding.evidence.push_back("Here: " + finding.consumer);
  finding.fixes = {"cuDNN front end 1.25.0 or later reads it"};
  return {std::move(finding)};
}

}  // namespace

Rows counting_rows(const Observations& seen, std::string_view consumer) {
  Rows out;
  for (const Selection* row : scanning_rows(seen)) {
    if (!counts_in_full(*row)) continue;
    if (consumer.empty() || row->consumer == consumer) out.push_back(row);
  }
  return out;
}

const std::string* frontend_override(const Snapshot& snapshot) {
  const Environment* environment = snapshot.environment.get();
  const std::string* value =
      environment == nullptr ? nullptr : environment->find("CUDNN_FRONTEND_CUDART_LIB_NAME");
  return value == nullptr || value->empty() ? nullptr : value;
}

std::vector<Finding> judge_overrides(const Observations& seen) {
  std::vector<Finding> out = judge_vllm_override(seen);
  append_findings(out, judge_frontend_override(seen));
  return out;
}

}  // namespace cudart_doctor
