#include "cudart_doctor/analyze/load_scope.hpp"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "cudart_doctor/analyze/objects_view.hpp"
#include "cudart_doctor/base/text.hpp"
#include "loader_texts.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kAmbiguous = SIZE_MAX;

/// An entry of a preload list and the list.
struct Listed {
  std::string entry;
  std::string_view source;
};

std::vector<Listed> preload_lists(const Snapshot& snapshot) {
  std::vector<Listed> out;
  const Environment* environment = snapshot.environment.get();
  if (const std::string* list = environment ? environment->find("LD_PRELOAD") : nullptr) {
    for (std::string& entry : preload_entries(*list)) {
      out.push_back({std::move(entry), "LD_PRELOAD"});
    }
  }
  const auto file = snapshot.disk.find(kPreloadFile);
  const std::string* text = file == snapshot.disk.end() ? nullptr : file->second.text.get();
  if (text != nullptr) {
    for (std::string& entry : preload_file_entries(*text)) {
      out.push_back({std::move(entry), kPreloadFile});
    }
  }
  return out;
}

/// By its path, or by the file's name: $LIB and $ORIGIN may stand in an entry, and a bare name is
/// searched for.
bool is_named_by(const LoadScope::Entry& entry, const Snapshot& snapshot, const Listed& listed) {
  const auto& paths = snapshot.objects[entry.object].paths;
  const std::string_view file = base_name(listed.entry);
  const ElfFacts* elf = snapshot.objects[entry.object].elf.get();
  return base_name(entry.name) == file || (elf != nullptr && elf->soname == file) ||
         std::any_of(paths.begin(), paths.end(),
                     [&](const std::string& path) { return base_name(path) == file; });
}

std::vector<Preloaded> preloaded_by_place(const LoadScope& scope) {
  const auto needs = scope.needs(0);
  if (needs.empty()) return {};
  std::vector<Preloaded> out;
  for (std::size_t i = 1; i < needs.front().entry; ++i) {
    out.push_back({i, "its place in load order"});
  }
  return out;
}

}  // namespace

LoadScope::LoadScope(const Snapshot& snapshot, const LinkNamespace& space)
    : snapshot_(snapshot), id_(space.id) {
  for (std::uint32_t position = 0; position < space.entries.size(); ++position) {
    const LinkEntry& entry = space.entries[position];
    auto object = object_of_entry(snapshot, entry);
    if (!object && position == 0 && id_ == 0) object = main_program(snapshot);
    if (object) entries_.push_back({*object, position, entry.name});
  }
  index_names(Sharing::first_wins);
}

LoadScope::LoadScope(const Snapshot& snapshot) : snapshot_(snapshot) {
  for (std::size_t object = 0; object < snapshot.objects.size(); ++object) {
    if (!snapshot.objects[object].executable) continue;
    entries_.push_back({object, std::nullopt, snapshot.objects[object].path()});
  }
  index_names(Sharing::nobody_wins);
}

void LoadScope::index_names(Sharing sharing) {
  const auto add = [&](std::string_view name, std::size_t entry) {
    if (name.empty()) return;
    const auto [at, is_new] = by_name_.try_emplace(name, entry);
    if (!is_new && at->second != entry && sharing == Sharing::nobody_wins) at->second = kAmbiguous;
  };
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    by_object_.try_emplace(entries_[i].object, i);
    add(entries_[i].name, i);
    if (const std::string* soname = soname_of(snapshot_, entries_[i].object)) add(*soname, i);
    const auto [at, is_new] = by_file_name_.try_emplace(base_name(entries_[i].name), i);
    if (!is_new) at->second = kAmbiguous;
  }
}

std::optional<std::size_t> LoadScope::entry_of(std::size_t object) const {
  const auto at = by_object_.find(object);
  return at == by_object_.end() ? std::nullopt : std::optional(at->second);
}

const ElfFacts* LoadScope::elf_of(std::size_t entry) const {
  return snapshot_.objects[entries_[entry].object].elf.get();
}

std::optional<std::size_t> LoadScope::find_needed(std::string_view name) const {
  if (name.empty()) return std::nullopt;
  for (const auto* index : {&by_name_, &by_file_name_}) {
    const auto at = index->find(name);
    if (at != index->end() && at->second != kAmbiguous) return at->second;
    if (at != index->end()) return std::nullopt;
  }
  return std::nullopt;
}

std::vector<LoadScope::Need> LoadScope::needs(std::size_t entry) const {
  std::vector<Need> out;
  const ElfFacts* elf = elf_of(entry);
  if (elf == nullptr) return out;
  for (const std::string& soname : elf->needed) {
    if (const auto found = find_needed(soname)) out.push_back({*found, soname});
  }
  return out;
}

std::vector<std::size_t> LoadScope::closure(std::vector<std::size_t> roots) const {
  std::vector<std::size_t> order;
  std::unordered_set<std::size_t> seen;
  for (const std::size_t root : roots) {
    if (seen.insert(root).second) order.push_back(root);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const Need& need : needs(order[i])) {
      if (seen.insert(need.entry).second) order.push_back(need.entry);
    }
  }
  return order;
}

std::vector<Preloaded> find_preloaded(const LoadScope& scope) {
  const auto& entries = scope.entries();
  if (scope.id() != 0 || entries.empty() || entries.front().position != 0) return {};
  const Snapshot& snapshot = scope.snapshot();
  if (!snapshot.environment.is_known()) return preloaded_by_place(scope);
  const std::vector<Listed> lists = preload_lists(snapshot);
  std::vector<Preloaded> out;
  for (std::size_t i = 1; i < entries.size(); ++i) {
    const auto listed = std::find_if(lists.begin(), lists.end(), [&](const Listed& each) {
      return is_named_by(entries[i], snapshot, each);
    });
    if (listed == lists.end()) break;
    out.push_back({i, listed->source});
  }
  return out;
}

}  // namespace cudart_doctor
