#include "cudart_doctor/analyze/objects_view.hpp"

#include <algorithm>

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

bool has_path(const LoadedObject& object, std::string_view path) {
  return std::find(object.paths.begin(), object.paths.end(), path) != object.paths.end();
}

/// Whether the names that the object defines are known. An object that is known to define none of
/// the CUDA families is not walked.
bool names_known(const ElfFacts* elf) {
  return elf != nullptr && (elf->symbols_walked || !elf->exports_api);
}

bool exports(const ElfFacts& elf, std::string_view name) {
  return std::binary_search(elf.exports.begin(), elf.exports.end(), name);
}

std::optional<std::size_t> find_by_soname(const Snapshot& snapshot,
                                          const std::vector<std::size_t>& loaded,
                                          std::string_view soname) {
  for (const std::size_t object : loaded) {
    const std::string* own = soname_of(snapshot, object);
    if (own != nullptr && *own == soname) return object;
  }
  return std::nullopt;
}

/// The object and everything that it needs, breadth first, each once: the scope of its handle.
std::vector<std::size_t> handle_scope(const Snapshot& snapshot, std::size_t object) {
  const std::vector<std::size_t> loaded = loaded_objects(snapshot);
  std::vector<std::size_t> scope = {object};
  for (std::size_t i = 0; i < scope.size(); ++i) {
    const ElfFacts* elf = snapshot.objects[scope[i]].elf.get();
    if (elf == nullptr) continue;
    for (const std::string& needed : elf->needed) {
      const auto found = find_by_soname(snapshot, loaded, needed);
      if (found && std::find(scope.begin(), scope.end(), *found) == scope.end()) {
        scope.push_back(*found);
      }
    }
  }
  return scope;
}

bool goes_by(const LoadedObject& object, std::string_view name) {
  const ElfFacts* elf = object.elf.get();
  if (elf != nullptr && elf->soname == name) return true;
  return std::any_of(object.paths.begin(), object.paths.end(),
                     [&](const std::string& path) { return base_name(path) == name; });
}

/// For entries that no mapping matches: by name.
std::optional<std::size_t> object_named(const Snapshot& snapshot, const LinkEntry& entry) {
  // The main program has no name, and the vDSO has one that is no path.
  if (entry.name.find('/') == std::string::npos) return std::nullopt;
  for (std::size_t i = 0; i < snapshot.objects.size(); ++i) {
    if (snapshot.objects[i].executable && has_path(snapshot.objects[i], entry.name)) return i;
  }
  return std::nullopt;
}

}  // namespace

const LinkNamespace* base_link_map(const Snapshot& snapshot) {
  const auto* namespaces = snapshot.link_map.get();
  if (namespaces == nullptr) return nullptr;
  for (const LinkNamespace& space : *namespaces) {
    // What is missing from half a list may still be loaded.
    if (space.id == 0 && !space.entries.empty() && space.note.empty()) return &space;
  }
  return nullptr;
}

std::optional<std::size_t> object_of_entry(const Snapshot& snapshot, const LinkEntry& entry) {
  if (!entry.object) return object_named(snapshot, entry);
  if (*entry.object < snapshot.objects.size()) return *entry.object;
  return std::nullopt;
}

bool is_loaded_in_base(const Snapshot& snapshot, std::size_t object) {
  const LinkNamespace* base = base_link_map(snapshot);
  if (base == nullptr) return snapshot.objects[object].executable;
  return std::any_of(base->entries.begin(), base->entries.end(), [&](const LinkEntry& entry) {
    return object_of_entry(snapshot, entry) == object;
  });
}

std::vector<std::size_t> loaded_objects(const Snapshot& snapshot) {
  std::vector<std::size_t> loaded;
  loaded.reserve(snapshot.objects.size());
  if (const LinkNamespace* base = base_link_map(snapshot)) {
    for (const LinkEntry& entry : base->entries) {
      if (const auto object = object_of_entry(snapshot, entry)) loaded.push_back(*object);
    }
    return loaded;
  }
  for (std::size_t i = 0; i < snapshot.objects.size(); ++i) {
    if (snapshot.objects[i].executable) loaded.push_back(i);
  }
  return loaded;
}

std::optional<std::size_t> find_object_at(const Snapshot& snapshot, std::string_view path) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < snapshot.objects.size(); ++i) {
    if (!has_path(snapshot.objects[i], path)) continue;
    if (is_loaded_in_base(snapshot, i)) return i;
    if (!found) found = i;
  }
  return found;
}

std::optional<std::size_t> find_loaded_file(const Snapshot& snapshot, const FileKey& key) {
  if (!key.is_file()) return std::nullopt;
  for (const std::size_t object : loaded_objects(snapshot)) {
    if (snapshot.objects[object].key == key) return object;
  }
  return std::nullopt;
}

std::optional<std::size_t> find_loaded_as(const Snapshot& snapshot, std::string_view name) {
  for (std::size_t i = 0; i < snapshot.objects.size(); ++i) {
    if (snapshot.objects[i].executable && goes_by(snapshot.objects[i], name)) return i;
  }
  const auto* spaces = snapshot.link_map.get();
  if (spaces == nullptr) return std::nullopt;
  for (const LinkNamespace& space : *spaces) {
    for (const LinkEntry& entry : space.entries) {
      if (base_name(entry.name) == name) return object_of_entry(snapshot, entry);
    }
  }
  return std::nullopt;
}

std::optional<std::size_t> main_program(const Snapshot& snapshot) {
  if (const LinkNamespace* base = base_link_map(snapshot)) {
    const LinkEntry& first = base->entries.front();
    if (first.name.empty() && first.object) return first.object;
  }
  const std::string* executable = snapshot.process.executable.get();
  return executable == nullptr ? std::nullopt : find_object_at(snapshot, *executable);
}

const std::string* soname_of(const Snapshot& snapshot, std::size_t object) {
  const ElfFacts* elf = snapshot.objects[object].elf.get();
  return elf != nullptr && elf->soname ? &*elf->soname : nullptr;
}

std::string loader_name(const Snapshot& snapshot, std::size_t object) {
  if (const LinkNamespace* base = base_link_map(snapshot)) {
    for (const LinkEntry& entry : base->entries) {
      if (!entry.name.empty() && object_of_entry(snapshot, entry) == object) return entry.name;
    }
  }
  return snapshot.objects[object].path();
}

std::vector<std::string_view> loader_names(const Snapshot& snapshot) {
  std::vector<std::string_view> names(snapshot.objects.size());
  if (const LinkNamespace* base = base_link_map(snapshot)) {
    for (const LinkEntry& entry : base->entries) {
      const auto object = object_of_entry(snapshot, entry);
      if (object && names[*object].empty()) names[*object] = entry.name;
    }
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) names[i] = snapshot.objects[i].path();
  }
  return names;
}

MissingNames missing_in_object(const Snapshot& snapshot, std::size_t object,
                               std::span<const std::string_view> names) {
  MissingNames missing;
  const ElfFacts* own = snapshot.objects[object].elf.get();
  missing.known = names_known(own);
  if (!missing.known) return missing;
  std::vector<std::size_t> scope;  // Most have all names themselves, and this takes long.
  for (const std::string_view name : names) {
    if (exports(*own, name)) continue;
    if (scope.empty()) scope = handle_scope(snapshot, object);
    const bool found = std::any_of(scope.begin(), scope.end(), [&](std::size_t index) {
      const ElfFacts* elf = snapshot.objects[index].elf.get();
      return elf != nullptr && exports(*elf, name);
    });
    if (!found) missing.names.emplace_back(name);
  }
  return missing;
}

MissingNames missing_in_file(const Snapshot& snapshot, const std::string& path,
                             std::span<const std::string_view> names) {
  MissingNames missing;
  const auto entry = snapshot.disk.find(path);
  const ElfFacts* elf = entry == snapshot.disk.end() ? nullptr : entry->second.elf.get();
  missing.known = names_known(elf);
  if (!missing.known) return missing;
  for (const std::string_view name : names) {
    if (!exports(*elf, name)) missing.names.emplace_back(name);
  }
  return missing;
}

}  // namespace cudart_doctor
