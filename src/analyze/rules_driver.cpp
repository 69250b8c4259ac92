// DR01, DR03, DR04, DR05: a libcuda that is no driver, or not the kernel module's, mapped or first
// in the loader's way.
#include <algorithm>
#include <optional>
#include <utility>

#include "cudart_doctor/analyze/file_owner.hpp"
#include "cudart_doctor/analyze/identify.hpp"
#include "cudart_doctor/analyze/loader.hpp"
#include "cudart_doctor/analyze/rules.hpp"
#include "cudart_doctor/base/text.hpp"
#include "driver_in_use.hpp"
#include "loader_texts.hpp"

namespace cudart_doctor {
namespace {

/// The loader configuration file that lists the directory, where it is known.
std::string configuration_file(const Snapshot& snapshot) {
  const auto found = snapshot.host.given.find("ldconf");
  return found == snapshot.host.given.end() ? std::string() : escape_foreign(found->second);
}

Finding found_driver(const Observations& seen, const Companion& companion, std::string_view id,
                     std::string headline) {
  Finding finding = start_finding(id, Severity::critical, std::move(headline));
  finding.evidence.push_back((companion.loaded ? "Mapped: " : "First in the loader's way: ") +
                             escape_foreign(companion.path));
  const std::string entry = entry_that_brought(seen.snapshot, companion.path);
  if (!entry.empty()) finding.evidence.push_back(entry);
  const std::string owner = owner_sentence(seen.snapshot, companion.path);
  if (!owner.empty()) finding.evidence.push_back(owner);
  finding.evidence.insert(finding.evidence.end(), companion.evidence.begin(),
                          companion.evidence.end());
  return finding;
}

/// Out of the loader's way, or off the machine.
std::vector<std::string> ways_out(const Snapshot& snapshot, const Companion& companion) {
  std::vector<std::string> out = {driver_way_out(snapshot, companion)};
  const std::string removal = command_or(snapshot, companion.path, PackageStep::remove, {});
  if (!removal.empty()) out.push_back("Or remove its package: " + removal);
  out.emplace_back("Restart the process");
  return out;
}

Finding driver_stub(const Observations& seen, const Companion& companion) {
  Finding finding = found_driver(
      seen, companion, "DR01",
      companion.loaded ? "The CUDA driver library in this process is the toolkit's link-time stub."
                       : "The loader would take the toolkit's link-time stub for the CUDA driver.");
  const auto genuine =
      std::find_if(seen.companions.begin(), seen.companions.end(), [](const Companion& other) {
        return other.kind == CompanionKind::driver || other.kind == CompanionKind::driver_compat;
      });
  if (genuine != seen.companions.end()) {
    finding.evidence.push_back("Kept out by the stub's soname: " + escape_foreign(genuine->path));
  }
  finding.fixes = ways_out(seen.snapshot, companion);
  return finding;
}

Finding broken_driver(const Observations& seen, const Companion& companion) {
  Finding finding = found_driver(seen, companion, "DR03",
                                 "What the loader finds as the CUDA driver is none: " +
                                     escape_foreign(base_name(companion.path)) + " is broken.");
  const std::string again = command_or(seen.snapshot, companion.path, PackageStep::reinstall, {});
  finding.fixes = {"Delete " + escape_foreign(companion.path) + ", or " +
                       (again.empty() ? "mount the driver there again" : "put it back: " + again),
                   "Restart the process"};
  return finding;
}

/// WSL2 and Jetson have no /proc/driver/nvidia/version: without it nothing is compared.
std::vector<Finding> judge_versions(const Observations& seen, const Companion& companion) {
  const std::string* module = seen.snapshot.host.kernel_module.get();
  if (module == nullptr || companion.version.empty()) return {};
  const int order = compare_versions(companion.version, *module);
  const std::string versions = driver_versions(seen.snapshot, companion);
  // A compat library newer than the kernel module is what forward compatibility is for.
  if (companion.kind == CompanionKind::driver_compat) {
    if (order >= 0) return {};
    Finding finding = found_driver(seen, companion, "DR05",
                                   "A compat libcuda, older than the kernel module, is taken in "
                                   "place of the host's driver.");
    finding.evidence.insert(finding.evidence.begin(), versions);
    finding.effect = "CUDA does not start: error 803 (system has unsupported driver combination)";
    finding.fixes = ways_out(seen.snapshot, companion);
    return {std::move(finding)};
  }
  if (order == 0) return {};
  Finding finding = found_driver(seen, companion, "DR04",
                                 "libcuda and the NVIDIA kernel module are of different versions.");
  finding.evidence.insert(finding.evidence.begin(), versions);
  finding.effect = "CUDA does not start: error 803, 100 or 999 at the first call";
  finding.fixes = {"On the host: reboot, or load the module of the installed driver again",
                   "In a container: start it again; remove a driver that the image brought"};
  return {std::move(finding)};
}

std::vector<Finding> judge_companion(const Observations& seen, const Companion& companion) {
  switch (companion.kind) {
    case CompanionKind::driver_stub: return {driver_stub(seen, companion)};
    case CompanionKind::driver_broken: return {broken_driver(seen, companion)};
    case CompanionKind::driver:
    case CompanionKind::driver_compat: return judge_versions(seen, companion);
    default: return {};
  }
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
  // The version is in the name behind the links.
  const std::string& real =
      entry->second.real_path.empty() ? *answer.disk_path : entry->second.real_path;
  Companion companion = identify_companion(real, entry->second.elf, entry->second.content);
  companion.path = *answer.disk_path;
  return companion;
}

}  // namespace

std::string driver_way_out(const Snapshot& snapshot, const Companion& companion) {
  const std::string directory = escape_foreign(dir_name(companion.path));
  if (!entry_that_brought(snapshot, companion.path).empty()) {
    return "Take " + directory + " out of LD_LIBRARY_PATH";
  }
  const std::string file = configuration_file(snapshot);
  if (!file.empty()) return "Take " + directory + " out of " + file + ", then run ldconfig";
  return "Take " + directory + " out of the run paths and /etc/ld.so.conf.d, then run ldconfig";
}

std::string driver_versions(const Snapshot& snapshot, const Companion& companion) {
  const std::string* module = snapshot.host.kernel_module.get();
  if (module == nullptr || companion.version.empty()) return {};
  return "libcuda " + escape_foreign(companion.version) + ", kernel module " +
         escape_foreign(*module);
}

std::optional<Companion> driver_in_use(const Observations& seen) {
  const auto mapped =
      std::find_if(seen.companions.begin(), seen.companions.end(), is_mapped_driver);
  if (mapped != seen.companions.end()) return *mapped;
  return reachable_driver(seen.snapshot);
}

bool is_driver_absent(const Observations& seen) {
  if (std::any_of(seen.companions.begin(), seen.companions.end(), is_mapped_driver)) return false;
  return simulate_dlopen(seen.snapshot, {.name = kDriverName, .caller = {}}).outcome ==
         Outcome::not_found;
}

std::vector<DiskRequest> wanted_by_driver(const Snapshot& snapshot) {
  return wanted_by_dlopen(snapshot, {.name = kDriverName, .caller = {}});
}

std::vector<Finding> judge_driver(const Observations& seen) {
  std::vector<Finding> out;
  bool any_mapped = false;
  for (const Companion& companion : seen.companions) {
    if (!companion.loaded) continue;
    any_mapped = any_mapped || is_mapped_driver(companion);
    append_findings(out, judge_companion(seen, companion));
  }
  if (any_mapped) return out;
  if (const auto reachable = reachable_driver(seen.snapshot)) {
    append_findings(out, judge_companion(seen, *reachable));
  }
  return out;
}

}  // namespace cudart_doctor
