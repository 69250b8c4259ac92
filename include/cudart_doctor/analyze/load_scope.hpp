// One loader namespace as ld.so sees it: its objects in load order, which of them a DT_NEEDED entry
// leads to, and what was preloaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

class LoadScope {
 public:
  struct Entry {
    std::size_t object = 0;                 ///< Index into Snapshot::objects.
    std::optional<std::uint32_t> position;  ///< In the link map; nothing without one.
    std::string_view name;                  ///< l_name.
  };
  /// What one DT_NEEDED entry leads to.
  struct Need {
    std::size_t entry = 0;  ///< Index into entries().
    std::string_view soname;
  };

  /// Both must outlive this. Link map entries without an object (the vDSO) are left out.
  LoadScope(const Snapshot& snapshot, const LinkNamespace& space);
  /// Without a link map: every loaded object, by address. A soname that two of them carry leads
  /// nowhere, since only load order could tell.
  explicit LoadScope(const Snapshot& snapshot);

  [[nodiscard]] const Snapshot& snapshot() const { return snapshot_; }
  [[nodiscard]] std::uint32_t id() const { return id_; }
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] std::optional<std::size_t> entry_of(std::size_t object) const;
  [[nodiscard]] const ElfFacts* elf_of(std::size_t entry) const;

  /// glibc's rule: the first object in load order that has the name as l_name or as DT_SONAME. Else
  /// the only one that was loaded from a file of that name: ld.so keeps the names under which it
  /// searched, but not where they can be read.
  [[nodiscard]] std::optional<std::size_t> find_needed(std::string_view name) const;
  /// What the entry's DT_NEEDED lead to, in order; entries that lead nowhere are left out.
  [[nodiscard]] std::vector<Need> needs(std::size_t entry) const;
  /// `roots` and all that they need, breadth first, each once.
  [[nodiscard]] std::vector<std::size_t> closure(std::vector<std::size_t> roots) const;

 private:
  enum class Sharing : std::uint8_t { first_wins, nobody_wins };
  void index_names(Sharing sharing);

  const Snapshot& snapshot_;
  std::uint32_t id_ = 0;
  std::vector<Entry> entries_;
  std::unordered_map<std::string_view, std::size_t> by_name_;
  std::unordered_map<std::string_view, std::size_t> by_file_name_;
  std::unordered_map<std::size_t, std::size_t> by_object_;
};

/// An object that was loaded before all that the program needs.
struct Preloaded {
  std::size_t entry = 0;    ///< Index into LoadScope::entries().
  std::string_view source;  ///< "LD_PRELOAD", "/etc/ld.so.preload", or what its place tells.
};

/// What was preloaded into the base namespace, in order. Preloads stand right behind the program:
/// the first object there that no list names ends them. Where the environment is not known, those
/// that stand before the program's first DT_NEEDED are taken.
std::vector<Preloaded> find_preloaded(const LoadScope& scope);

}  // namespace cudart_doctor
