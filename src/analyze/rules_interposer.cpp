// IP08: a library that stands between a program and CUDA. What it does to handles is its own
// affair.
#include <algorithm>
#include <array>
#include <utility>

#include "cudart_doctor/analyze/provenance.hpp"
#include "cudart_doctor/analyze/rules.hpp"
#include "cudart_doctor/base/text.hpp"
#include "loader_texts.hpp"
#include "probe_view.hpp"
#include "rule_phrases.hpp"

namespace cudart_doctor {
namespace {

bool is_entry(const LoadedObject& object, const std::string& entry) {
  if (entry.find('/') == std::string::npos) return base_name(object.path()) == entry;
  return std::find(object.paths.begin(), object.paths.end(), entry) != object.paths.end();
}

bool is_genuine_library(const Observations& seen, std::size_t object) {
  const auto runtime = [&](const Candidate& candidate) {
    return candidate.object == object && candidate.kind == RuntimeKind::genuine;
  };
  const auto driver = [&](const Companion& companion) {
    return companion.object == object && (companion.kind == CompanionKind::driver ||
                                          companion.kind == CompanionKind::driver_compat);
  };
  return std::any_of(seen.candidates.begin(), seen.candidates.end(), runtime) ||
         std::any_of(seen.companions.begin(), seen.companions.end(), driver);
}

/// "cudaMalloc and 3 more": the names that a preloaded object takes over; "" where it takes none.
std::string taken_names(const ElfFacts& elf) {
  std::vector<std::string> names;
  for (const std::string& name : elf.exports) {
    const bool runtime =
        name.starts_with("cuda") && name.size() > 4 && static_cast<unsigned char>(name[4]) < 'a';
    const bool driver =
        name.starts_with("cu") && name.size() > 2 && static_cast<unsigned char>(name[2]) < 'a';
    if (runtime || driver) names.push_back(name);
  }
  if (names.empty()) return {};
  const std::string more =
      names.size() > 1 ? " and " + std::to_string(names.size() - 1) + " more" : std::string();
  return told(names.front()) + more;
}

std::vector<std::string> preloaded_hooks(const Observations& seen) {
  std::vector<std::string> out;
  const std::string* list = probe_variable(seen.snapshot, "LD_PRELOAD");
  if (list == nullptr) return out;
  const SlotUses uses(seen.snapshot);
  for (const std::string& entry : preload_entries(*list)) {
    for (std::size_t i = 0; i < seen.snapshot.objects.size(); ++i) {
      const LoadedObject& object = seen.snapshot.objects[i];
      const ElfFacts* elf = object.elf.get();
      if (elf == nullptr || !object.executable || !is_entry(object, entry)) continue;
      const std::string names = is_genuine_library(seen, i) ? std::string() : taken_names(*elf);
      if (!names.empty()) {
        const std::string users = slot_users(seen.snapshot, uses.of(i));
        out.push_back("LD_PRELOAD: " + escape_foreign(object.path()) + " takes over " + names +
                      (users.empty() ? users : "; used by " + users));
      }
    }
  }
  return out;
}

/// Names that a probed genuine runtime did not answer itself.
std::vector<std::string> probed_hooks(const Observations& seen) {
  std::vector<std::string> out;
  for (const ProbedRuntime& runtime : seen.snapshot.probe.runtimes) {
    const Candidate* candidate = candidate_of(seen, runtime);
    const bool fake = candidate != nullptr && is_fake(candidate->kind);
    if (runtime.elsewhere.empty() || !runtime.skipped.empty() || fake) continue;
    std::vector<std::string> names;
    for (const std::string& text : runtime.elsewhere) names.push_back(told(text));
    out.push_back("Asked of " + runtime_name(seen, runtime) + ": " + join(names, ", "));
  }
  return out;
}

}  // namespace

std::vector<Finding> judge_interposers(const Observations& seen) {
  if (distinct_runtimes(seen.snapshot, seen.candidates).empty()) return {};
  std::vector<std::string> evidence = preloaded_hooks(seen);
  std::vector<std::string> fixes;
  if (!evidence.empty()) fixes.emplace_back("Repeat without LD_PRELOAD");
  for (std::string& sentence : probed_hooks(seen)) evidence.push_back(std::move(sentence));
  for (const std::string_view variable : {"CUDA_INJECTION64_PATH", "LD_AUDIT"}) {
    const std::string* value = probe_variable(seen.snapshot, variable);
    if (value == nullptr || value->empty()) continue;
    evidence.push_back(std::string(variable) + "=" + told(*value));
    fixes.push_back("Repeat without " + std::string(variable));
  }
  if (evidence.empty()) return {};
  if (fixes.empty()) fixes.emplace_back("Repeat without the library that takes the names over");
  Finding finding = start_finding("IP08", Severity::warning,
                                  "Another library stands between the program and CUDA.");
  finding.evidence = std::move(evidence);
  finding.fixes = std::move(fixes);
  return {std::move(finding)};
}

}  // namespace cudart_doctor
