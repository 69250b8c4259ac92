// A process for tests of scopes: libraries in load order, each with what it needs, defines and
// refers to. Addresses ascend in the order of `place`, which is another.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cudart_doctor/analyze/global_scope.hpp"
#include "cudart_doctor/model/snapshot.hpp"
#include "support/snapshot_builder.hpp"

namespace cudart_doctor::test {

struct Library {
  std::string path;
  std::vector<std::string> needed{};
  std::vector<std::string> defines{};  ///< Names of the runtime.
  std::string node{};                  ///< Version node of those; "" for none.
  std::vector<SymbolRef> refers{};
  std::string soname{};  ///< "": the file's name.
};

inline ElfFacts facts_of(const Library& library) {
  ElfFacts elf;
  elf.machine = 62;
  elf.has_dynamic = true;
  elf.symbols_walked = true;
  elf.soname =
      library.soname.empty() ? library.path.substr(library.path.rfind('/') + 1) : library.soname;
  elf.needed = library.needed;
  elf.exports = library.defines;
  std::sort(elf.exports.begin(), elf.exports.end());
  elf.exports_api = !elf.exports.empty();
  if (elf.exports_api) elf.runtime_nodes = {library.node};
  elf.undefined = library.refers;
  return elf;
}

inline constexpr const char* kProgram = "/app/prog";

/// `libraries` in load order, the program first; addresses run the other way.
inline SnapshotBuilder process_of(const std::vector<Library>& libraries) {
  MapsText maps;
  for (std::size_t i = libraries.size(); i > 0; --i) maps.library(libraries[i - 1].path, i);
  SnapshotBuilder builder(maps);
  builder.live().empty_env();
  for (const Library& library : libraries) {
    const bool is_program = library.path == kProgram;
    builder.elf(library.path, facts_of(library)).link(is_program ? "" : library.path, library.path);
  }
  return builder;
}

inline std::size_t index_of(const Snapshot& snapshot, std::string_view path) {
  for (std::size_t i = 0; i < snapshot.objects.size(); ++i) {
    if (snapshot.objects[i].path() == path) return i;
  }
  return SIZE_MAX;
}

/// A slot of `owner` for `name` that points into the object at `target`; "" for one not bound.
inline void bind(Snapshot& snapshot, std::string_view owner, const SymbolRef& reference,
                 std::string_view target) {
  LoadedObject& object = snapshot.objects[index_of(snapshot, owner)];
  std::vector<Slot> slots = object.slots.is_known() ? *object.slots.get() : std::vector<Slot>();
  Slot slot{reference.name, reference.version, 0x1000, !target.empty(), {}};
  if (slot.bound) slot.object = static_cast<std::uint32_t>(index_of(snapshot, target));
  slots.push_back(slot);
  object.slots = Fact<std::vector<Slot>>::known(std::move(slots));
}

/// "= /r/libcudart.so.12" for a certain definer, else "? a, b": file names in load order.
inline std::string shown(const Snapshot& snapshot, const Answer& answer) {
  if (answer.definer) return "= " + snapshot.objects[*answer.definer].path();
  std::string out = "?";
  for (const std::size_t object : answer.possible) out += " " + snapshot.objects[object].path();
  return out;
}

}  // namespace cudart_doctor::test
