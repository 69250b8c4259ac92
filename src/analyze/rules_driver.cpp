// DR01, DR03: a libcuda that is no driver, mapped or first in the loader's way.
#include <algorithm>
#include <optional>

#include "cudart_doctor/analyze/identify.hpp"
#include "cudart_doctor/analyze/loader.hpp"
#include "cudart_doctor/analyze/rules.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

std::string_view variable_that_brought(const Snapshot& snapshot, std::string_view path) {
  constexpr std::string_view kVariable = "LD_LIBRARY_PATH";
  const Environment* environment = snapshot.environment.get();
  const std::string* value = environment == nullptr ? nullptr : environment->find(kVariable);
  if (value == nullptr) return {};
  const auto parts = split(*value, ':');
  return std::find(parts.begin(), parts.end(), dir_name(path)) == parts.end() ? std::string_view()
                                                                              : kVariable;
}

Finding found_driver(const Observations& seen, const Companion& companion, std::string_view id,
                     std::string headline) {
  Finding finding = start_finding(id, Severity::critical, std::move(headline));
  finding.evidence.push_back((companion.loaded ? "Mapped: " : "First in the loader's way: ") +
                             escape_foreign(companion.path));
  finding.evidence.insert(finding.evidence.end(), companion.evidence.begin(),
                          companion.evidence.end());
  const auto variable = variable_that_brought(seen.snapshot, companion.path);
  if (!variable.empty()) {
    finding.evidence.push_back(std::string(variable) + " lists " +
                               escape_foreign(dir_name(companion.path)));
  }
  return finding;
}

std::vector<Finding> judge_companion(const Observations& seen, const Companion& companion) {
  if (companion.kind == CompanionKind::driver_stub) {
    Finding finding = found_driver(
        seen, companion, "DR01",
        companion.loaded ? "The CUDA driver library in this process is a link-time stub."
                         : "The loader would take a link-time stub for the CUDA driver.");
    const auto genuine =
        std::find_if(seen.companions.begin(), seen.companions.end(), [](const Companion& other) {
          return other.kind == CompanionKind::driver || other.kind == CompanionKind::driver_compat;
        });
    if (genuine != seen.companions.end()) {
      finding.evidence.push_back("Kept out by the stub's soname: " + escape_foreign(genuine->path));
    }
    finding.fixes = {"Take " + escape_foreign(dir_name(companion.path)) +
                         " out of LD_LIBRARY_PATH and the run paths",
                     "Restart the process"};
    return {std::move(finding)};
  }
  if (companion.kind == CompanionKind::driver_broken) {
    Finding finding = found_driver(seen, companion, "DR03",
                                   "What the loader finds as the CUDA driver is not one: " +
                                       escape_foreign(base_name(companion.path)) + ".");
    finding.fixes = {"Delete " + escape_foreign(companion.path) + ", or mount the driver again"};
    return {std::move(finding)};
  }
  return {};
}

/// Every libcudart opens exactly this name.
constexpr std::string_view kDriverName = "libcuda.so.1";

bool is_mapped_driver(const Companion& companion) {
  switch (companion.kind) {
    case CompanionKind::driver:
    case CompanionKind::driver_compat:
    case CompanionKind::driver_stub:
    case CompanionKind::driver_broken: return companion.loaded;
    default: return false;
  }
}

/// The file at which a fresh load of libcuda.so.1 would end, as a companion on disk.
std::optional<Companion> reachable_driver(const Snapshot& snapshot) {
  const LoaderAnswer answer = simulate_dlopen(snapshot, {.name = kDriverName, .caller = {}});
  if (answer.object || !answer.disk_path) return std::nullopt;
  const auto entry = snapshot.disk.find(*answer.disk_path);
  if (entry == snapshot.disk.end() || entry->second.kind != DiskKind::file) return std::nullopt;
  Companion companion =
      identify_companion(*answer.disk_path, entry->second.elf, entry->second.content);
  companion.path = *answer.disk_path;
  return companion;
}

}  // namespace

std::vector<DiskRequest> wanted_by_driver(const Snapshot& snapshot) {
  return wanted_by_dlopen(snapshot, {.name = kDriverName, .caller = {}});
}

std::vector<Finding> judge_driver(const Observations& seen) {
  std::vector<Finding> out;
  bool any_mapped = false;
  for (const Companion& companion : seen.companions) {
    if (!companion.loaded) continue;
    any_mapped = any_mapped || is_mapped_driver(companion);
    for (Finding& finding : judge_companion(seen, companion)) out.push_back(std::move(finding));
  }
  if (any_mapped) return out;
  if (const auto reachable = reachable_driver(seen.snapshot)) {
    for (Finding& finding : judge_companion(seen, *reachable)) out.push_back(std::move(finding));
  }
  return out;
}

}  // namespace cudart_doctor
