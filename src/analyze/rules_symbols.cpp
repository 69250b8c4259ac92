// SY01: a versioned runtime symbol that the runtime which would serve it does not have.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "cudart_doctor/analyze/loader.hpp"
#include "cudart_doctor/analyze/rules.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

constexpr std::string_view kNodePrefix = "libcudart.so.";
/// Belongs to the program's own device link; no libcudart has it.
constexpr std::string_view kDeviceLink = "__cudaRegisterLinkedBinary";

/// An object whose undefined symbols are known: mapped, or named by the user.
struct Asker {
  std::string path;
  const ElfFacts* elf = nullptr;
  std::optional<std::size_t> object;
};

std::vector<Asker> askers(const Snapshot& snapshot) {
  std::vector<Asker> out;
  for (std::size_t i = 0; i < snapshot.objects.size(); ++i) {
    const LoadedObject& object = snapshot.objects[i];
    const ElfFacts* elf = object.elf.get();
    if (elf == nullptr || !object.executable || !elf->symbols_walked) continue;
    out.push_back({object.path(), elf, i});
  }
  for (const InstalledFile& file : snapshot.installed) {
    if (file.found_by != kNamedByUser) continue;
    const auto entry = snapshot.disk.find(file.path);
    const ElfFacts* elf = entry == snapshot.disk.end() ? nullptr : entry->second.elf.get();
    if (elf != nullptr && elf->symbols_walked) out.push_back({file.path, elf, std::nullopt});
  }
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
  std::vector<std::string> names;
  for (const std::string& name : lack.symbols) names.push_back(escape_foreign(name));
  finding.evidence.push_back("Needed by " + escape_foreign(lack.asker.path) + ": " +
                             join(names, ", ") + " at version node " + escape_foreign(lack.node));
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

}  // namespace

std::vector<Finding> judge_symbols(const Observations& seen) {
  std::vector<Finding> out;
  for (const Asker& asker : askers(seen.snapshot)) {
    for (const Lack& lack : lacks_of(seen.snapshot, asker)) {
      out.push_back(missing_symbol(seen, lack));
    }
  }
  return out;
}

}  // namespace cudart_doctor
