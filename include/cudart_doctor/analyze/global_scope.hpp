// Who answers a reference by name: the order of global scope, as far as it shows from outside, and
// version nodes.
//
// The order is the program, what was preloaded, their DT_NEEDED breadth first; then what was opened
// with RTLD_GLOBAL, which nobody can see: any other object may have been.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/analyze/load_scope.hpp"
#include "cudart_doctor/model/provenance.hpp"
#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

/// A reference to a name; `version` is the node that it is tagged with, "" for none.
struct Reference {
  std::string_view name;
  std::string_view version;
};

/// Who defines it. Objects are indices into Snapshot::objects.
struct Answer {
  std::optional<std::size_t> definer;  ///< Where it is certain.
  std::vector<std::size_t> possible;   ///< Else: all that could be it, in load order.
};

class GlobalScope {
 public:
  /// Nothing where the base link map could not be read whole. The snapshot must outlive it.
  static std::optional<GlobalScope> of(const Snapshot& snapshot);

  /// dlsym(RTLD_DEFAULT) of the program, or a reference of an object that brings no definer.
  [[nodiscard]] Answer look_up(const Reference& reference) const;
  /// A reference of a loaded object, which searches its own dependencies too.
  [[nodiscard]] Answer look_up_from(std::size_t object, const Reference& reference) const;
  /// dlsym(RTLD_NEXT) of a preloaded object: global scope behind it.
  [[nodiscard]] Answer look_up_after(std::size_t object, const Reference& reference) const;

  /// Whether the object is in global scope for certain.
  [[nodiscard]] bool has(std::size_t object) const;
  [[nodiscard]] const LoadScope& loaded() const { return scope_; }
  [[nodiscard]] const std::vector<Preloaded>& preloaded() const { return preloaded_; }

 private:
  explicit GlobalScope(LoadScope scope);
  [[nodiscard]] Answer search(std::size_t first, const Reference& reference) const;

  LoadScope scope_;
  std::vector<Preloaded> preloaded_;
  std::vector<std::size_t> certain_;  ///< Entries of scope_, in the order of the search.
  std::vector<std::size_t> others_;   ///< The rest, in load order.
};

/// Whether an object answers a reference.
enum class Match : std::uint8_t { no, yes, unknown };
/// glibc's rule: a definition without a version is accepted for every tag, one of another node is
/// skipped; a reference without a tag takes any. `elf` may be nullptr: not read.
Match match_reference(const ElfFacts* elf, const Reference& reference);

/// The version node of the runtime names that an object defines; "" for none.
std::string definition_node(const ElfFacts& elf);

/// cudaMalloc and every other name that a scanning consumer binds, asked of global scope. Empty
/// where that is not known. Pure.
std::vector<GlobalName> find_global_names(const Snapshot& snapshot);

}  // namespace cudart_doctor
