// SY01, SY02, SY04: a symbol that the runtime or the driver which would serve it does not have, or
// that is asked of a library which the object does not need.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "cudart_doctor/analyze/loader.hpp"
#include "cudart_doctor/analyze/rules.hpp"
#include "cudart_doctor/base/text.hpp"
#include "driver_in_use.hpp"

namespace cudart_doctor {
namespace {

constexpr std::string_view kNodePrefix = "libcudart.so.";
/// Belongs to the program's own device link; no libcudart has it.
constexpr std::string_view kDeviceLink = "__cudaRegisterLinkedBinary";

/// An object that was read: mapped, or named by the user.
struct Asker {
  std::string path;
  const ElfFacts* elf = nullptr;
  std::optional<std::size_t> object;
};

std::vector<Asker> known_objects(const Snapshot& snapshot) {
  std::vector<Asker> out;
  for (std::size_t i = 0; i < snapshot.objects.size(); ++i) {
    const LoadedObject& object = snapshot.objects[i];
    const ElfFacts* elf = object.elf.get();
    if (elf != nullptr && object.executable) out.push_back({object.path(), elf, i});
  }
  for (const InstalledFile& file : snapshot.installed) {
    if (file.found_by != kNamedByUser) continue;
    const auto entry = snapshot.disk.find(file.path);
    const ElfFacts* elf = entry == snapshot.disk.end() ? nullptr : entry->second.elf.get();
    if (elf != nullptr) out.push_back({file.path, elf, std::nullopt});
  }
  return out;
}

std::vector<Asker> askers(const Snapshot& snapshot) {
  std::vector<Asker> out = known_objects(snapshot);
  std::erase_if(out, [](const Asker& asker) { return !asker.elf->symbols_walked; });
  return out;
}

bool defines(const ElfFacts& elf, std::string_view symbol) {
  return std::find(elf.exports.begin(), elf.exports.end(), symbol) != elf.exports.end();
}

/// An object that is loaded already and defines the name may serve it, whatever its version node.
bool is_defined_somewhere(const Snapshot& snapshot, std::string_view symbol) {
  return std::any_of(snapshot.objects.begin(), snapshot.objects.end(), [&](const auto& object) {
    const ElfFacts* elf = object.elf.get();
    return elf != nullptr && object.executable && defines(*elf, symbol);
  });
}

/// The library that the version node is asked of: a vendored runtime keeps the node under another
/// file name, which the version needs tell.
std::string library_of(const ElfFacts& elf, const std::string& node) {
  for (const VersionNeed& need : elf.version_needs) {
    if (std::find(need.versions.begin(), need.versions.end(), node) != need.versions.end()) {
      return need.file;
    }
  }
  return node;
}

struct Provider {
  std::string path;
  const ElfFacts* elf = nullptr;
};

/// Where the loader ends for `library`; nothing where that, or the symbols there, are not known.
std::optional<Provider> find_provider(const Snapshot& snapshot, const Asker& asker,
                                      const std::string& library) {
  const LoaderAnswer answer = simulate_dlopen(snapshot, {.name = library, .caller = asker.object});
  Provider provider;
  if (answer.outcome != Outcome::selected) return std::nullopt;
  if (answer.object) {
    provider = {snapshot.objects[*answer.object].path(),
                snapshot.objects[*answer.object].elf.get()};
  } else if (answer.disk_path) {
    const auto entry = snapshot.disk.find(*answer.disk_path);
    if (entry == snapshot.disk.end()) return std::nullopt;
    provider = {*answer.disk_path, entry->second.elf.get()};
  }
  // A list that was read only in part proves no absence.
  const bool whole =
      provider.elf != nullptr && provider.elf->symbols_walked && provider.elf->damage.empty();
  if (!whole) return std::nullopt;
  return provider;
}

/// A file on disk with the same soname that has the symbol.
std::string file_with(const Snapshot& snapshot, const Provider& provider, std::string_view symbol) {
  for (const auto& [path, entry] : snapshot.disk) {
    const ElfFacts* elf = entry.elf.get();
    if (elf == nullptr || path == provider.path || elf->soname != provider.elf->soname) continue;
    if (defines(*elf, symbol)) return path;
  }
  return {};
}

std::string version_of(const Observations& seen, const std::string& path) {
  const auto found = std::find_if(seen.candidates.begin(), seen.candidates.end(),
                                  [&](const Candidate& c) { return c.path == path; });
  return found == seen.candidates.end() ? std::string() : found->version;
}

/// "cuA, cuB and 3 more", printable.
std::string shown_names(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 4;
  std::vector<std::string> shown;
  for (const std::string& name : names) {
    if (shown.size() < kMost) shown.push_back(escape_foreign(name));
  }
  const std::size_t more = names.size() - shown.size();
  return join(shown, ", ") + (more > 0 ? " and " + std::to_string(more) + " more" : std::string());
}

/// What one object lacks of one runtime.
struct Lack {
  Asker asker;
  Provider provider;
  std::string node;
  std::vector<std::string> symbols;
};

std::vector<Lack> lacks_of(const Snapshot& snapshot, const Asker& asker) {
  std::map<std::string, std::vector<std::string>> by_node;
  for (const SymbolRef& symbol : asker.elf->undefined) {
    if (!symbol.version.starts_with(kNodePrefix) || symbol.name.starts_with(kDeviceLink)) continue;
    by_node[symbol.version].push_back(symbol.name);
  }
  std::vector<Lack> out;
  for (const auto& [node, symbols] : by_node) {
    const auto provider = find_provider(snapshot, asker, library_of(*asker.elf, node));
    if (!provider) continue;
    Lack lack{asker, *provider, node, {}};
    for (const std::string& symbol : symbols) {
      if (!defines(*provider->elf, symbol) && !is_defined_somewhere(snapshot, symbol)) {
        lack.symbols.push_back(symbol);
      }
    }
    if (!lack.symbols.empty()) out.push_back(std::move(lack));
  }
  return out;
}

Finding missing_symbol(const Observations& seen, const Lack& lack) {
  const std::string& symbol = lack.symbols.front();
  const std::string version = version_of(seen, lack.provider.path);
  const std::string object = escape_foreign(base_name(lack.asker.path));
  Finding finding =
      start_finding("SY01", Severity::error,
                    object + " needs " + escape_foreign(symbol) + ", which the CUDA runtime " +
                        (version.empty() ? std::string() : version + " ") + "here does not have.");
  finding.effect =
      "it cannot be loaded, or its first call fails: undefined symbol: " + escape_foreign(symbol) +
      ", version " + escape_foreign(lack.node);
  finding.evidence.push_back("Needed by " + escape_foreign(lack.asker.path) + ": " +
                             shown_names(lack.symbols) + " at version node " +
                             escape_foreign(lack.node));
  finding.evidence.push_back("Served by " + escape_foreign(lack.provider.path) +
                             (version.empty() ? std::string() : ", version " + version));
  const std::string better = file_with(seen.snapshot, lack.provider, symbol);
  if (better.empty()) {
    finding.fixes.emplace_back("Load a newer runtime of this major before it");
  } else {
    finding.evidence.push_back("On disk with the symbol: " + escape_foreign(better));
    finding.fixes.push_back("Make the process load " + escape_foreign(better) + " first");
  }
  finding.fixes.push_back("Or build " + object + " for the runtime that is in use");
  return finding;
}

// SY02 ------------------------------------------------------------------------------------------

/// A driver function's name. libcufile's and its kin's functions begin alike.
bool is_driver_name(std::string_view name) {
  if (name.size() < 3 || !name.starts_with("cu") || name[2] < 'A' || name[2] > 'Z') return false;
  return !name.starts_with("cuFile") && !name.starts_with("cuObj");
}

const ElfFacts* elf_of(const Snapshot& snapshot, const Companion& companion) {
  if (companion.object) return snapshot.objects[*companion.object].elf.get();
  const auto entry = snapshot.disk.find(companion.path);
  return entry == snapshot.disk.end() ? nullptr : entry->second.elf.get();
}

/// A stub is not asked: it exports more than older drivers do.
bool is_real_driver(const Companion& companion) {
  return companion.kind == CompanionKind::driver || companion.kind == CompanionKind::driver_compat;
}

std::vector<std::string> lacks_of_driver(const Snapshot& snapshot, const Asker& asker,
                                         const ElfFacts& driver) {
  const auto& needed = asker.elf->needed;
  const bool needs_driver = std::any_of(needed.begin(), needed.end(), [](const auto& name) {
    return name.starts_with("libcuda.so");
  });
  std::vector<std::string> out;
  if (!needs_driver) return out;
  for (const SymbolRef& symbol : asker.elf->undefined) {
    if (!is_driver_name(symbol.name) || defines(driver, symbol.name)) continue;
    if (!is_defined_somewhere(snapshot, symbol.name)) out.push_back(symbol.name);
  }
  return out;
}

std::vector<Finding> judge_driver_symbols(const Observations& seen) {
  const auto driver = driver_in_use(seen);
  if (!driver || !is_real_driver(*driver)) return {};
  const ElfFacts* elf = elf_of(seen.snapshot, *driver);
  if (elf == nullptr || !elf->symbols_walked || !elf->damage.empty()) return {};
  const std::string version = driver->version.empty() ? "" : " " + escape_foreign(driver->version);
  std::vector<Finding> out;
  for (const Asker& asker : askers(seen.snapshot)) {
    const auto symbols = lacks_of_driver(seen.snapshot, asker, *elf);
    if (symbols.empty()) continue;
    const std::string object = escape_foreign(base_name(asker.path));
    const std::string symbol = escape_foreign(symbols.front());
    Finding finding = start_finding(
        "SY02", Severity::error,
        object + " needs " + symbol + ", which the driver" + version + " does not have.");
    finding.effect = "it cannot be loaded, or its first call fails: undefined symbol: " + symbol;
    finding.evidence.push_back("Needed by " + escape_foreign(asker.path) + ": " +
                               shown_names(symbols));
    finding.evidence.push_back("Driver" + version + ": " + escape_foreign(driver->path));
    finding.fixes = {"Take a build of " + object + " for the driver's CUDA release",
                     "Or install a newer driver"};
    out.push_back(std::move(finding));
  }
  return out;
}

// SY04 ------------------------------------------------------------------------------------------

bool is_cuda_library(std::string_view file) {
  return file.starts_with("libcu") || file.starts_with("libnv") || file.starts_with("libnccl");
}

std::vector<Finding> judge_version_needs(const Observations& seen) {
  std::vector<Finding> out;
  for (const Asker& asker : known_objects(seen.snapshot)) {
    // Half a table is no proof.
    if (!asker.elf->damage.empty()) continue;
    for (const VersionNeed& need : asker.elf->version_needs) {
      const auto& needed = asker.elf->needed;
      const bool matched = std::find(needed.begin(), needed.end(), need.file) != needed.end();
      if (matched || !is_cuda_library(need.file)) continue;
      const std::string object = escape_foreign(base_name(asker.path));
      const std::string file = escape_foreign(need.file);
      Finding finding = start_finding("SY04", Severity::error,
                                      object + " asks for versions of " + file +
                                          ", which it does not name among its needed libraries.");
      finding.effect =
          "it loads only where " + file +
          " happens to be loaded before, by that name; else the loader ends the process";
      finding.evidence.push_back(escape_foreign(asker.path) + ": version needs name " + file +
                                 " (" + shown_names(need.versions) + ")");
      finding.evidence.push_back("NEEDED: " + shown_names(needed));
      finding.fixes = {"Rebuild or reinstall the package of " + object +
                           ": what renamed its needed libraries left the version needs behind",
                       "Until then load what needs " + file + " before it"};
      out.push_back(std::move(finding));
    }
  }
  return out;
}

}  // namespace

std::vector<Finding> judge_symbols(const Observations& seen) {
  std::vector<Finding> out;
  for (const Asker& asker : askers(seen.snapshot)) {
    for (const Lack& lack : lacks_of(seen.snapshot, asker)) {
      out.push_back(missing_symbol(seen, lack));
    }
  }
  append_findings(out, judge_driver_symbols(seen));
  append_findings(out, judge_version_needs(seen));
  return out;
}

}  // namespace cudart_doctor
