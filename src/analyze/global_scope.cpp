#include "cudart_doctor/analyze/global_scope.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "cudart_doctor/analyze/names.hpp"
#include "cudart_doctor/analyze/objects_view.hpp"

namespace cudart_doctor {
namespace {

bool contains(const std::vector<std::size_t>& list, std::size_t item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

std::vector<std::size_t> roots_of(const std::vector<Preloaded>& preloaded) {
  std::vector<std::size_t> roots = {0};
  for (const Preloaded& each : preloaded) roots.push_back(each.entry);
  return roots;
}

/// musl takes the first definer, whatever its version.
Reference as_searched(const Snapshot& snapshot, const Reference& reference) {
  return snapshot.process.libc == "musl" ? Reference{reference.name, {}} : reference;
}

std::vector<std::string_view> asked_names() {
  std::vector<std::string_view> names = {"cudaMalloc"};
  for (const auto list : {names_rt13(), names_rt11(), names_memory_saver()}) {
    for (const std::string_view name : list) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

}  // namespace

Match match_reference(const ElfFacts* elf, const Reference& reference) {
  if (elf == nullptr || (elf->exports_api && !elf->symbols_walked)) return Match::unknown;
  if (!std::binary_search(elf->exports.begin(), elf->exports.end(), reference.name)) {
    return Match::no;
  }
  const auto accepted = [&](const std::string& node) {
    return node.empty() || node == reference.version;
  };
  const auto& nodes = elf->runtime_nodes;
  if (reference.version.empty() || std::all_of(nodes.begin(), nodes.end(), accepted)) {
    return Match::yes;
  }
  // Names of several nodes in one object: whose is whose is not kept.
  return std::any_of(nodes.begin(), nodes.end(), accepted) ? Match::unknown : Match::no;
}

std::string definition_node(const ElfFacts& elf) {
  return elf.runtime_nodes.size() == 1 ? elf.runtime_nodes.front() : std::string();
}

GlobalScope::GlobalScope(LoadScope scope)
    : scope_(std::move(scope)),
      preloaded_(find_preloaded(scope_)),
      certain_(scope_.closure(roots_of(preloaded_))) {
  const std::set<std::size_t> known(certain_.begin(), certain_.end());
  for (std::size_t i = 0; i < scope_.entries().size(); ++i) {
    if (!known.contains(i)) others_.push_back(i);
  }
}

std::optional<GlobalScope> GlobalScope::of(const Snapshot& snapshot) {
  const LinkNamespace* base = base_link_map(snapshot);
  if (base == nullptr) return std::nullopt;
  LoadScope scope(snapshot, *base);
  if (scope.entries().empty() || scope.entries().front().position != 0) return std::nullopt;
  return GlobalScope(std::move(scope));
}

bool GlobalScope::has(std::size_t object) const {
  const auto entry = scope_.entry_of(object);
  return entry && contains(certain_, *entry);
}

Answer GlobalScope::search(std::size_t first, const Reference& reference) const {
  Answer answer;
  const Reference asked = as_searched(scope_.snapshot(), reference);
  for (std::size_t i = first; i < certain_.size(); ++i) {
    const Match match = match_reference(scope_.elf_of(certain_[i]), asked);
    if (match == Match::no) continue;
    const std::size_t object = scope_.entries()[certain_[i]].object;
    if (match == Match::yes && answer.possible.empty()) {
      answer.definer = object;
      return answer;
    }
    answer.possible.push_back(object);
    if (match == Match::yes) return answer;
  }
  for (const std::size_t entry : others_) {
    if (match_reference(scope_.elf_of(entry), asked) == Match::no) continue;
    answer.possible.push_back(scope_.entries()[entry].object);
  }
  return answer;
}

Answer GlobalScope::look_up(const Reference& reference) const { return search(0, reference); }

Answer GlobalScope::look_up_from(std::size_t object, const Reference& reference) const {
  Answer answer = search(0, reference);
  if (answer.definer || answer.possible.size() != 1) return answer;
  // The only one that can answer does so, global or not, where it is among what the object needs.
  const auto own = scope_.entry_of(object);
  const auto only = scope_.entry_of(answer.possible.front());
  if (!own || !only || !contains(scope_.closure({*own}), *only)) return answer;
  const Reference asked = as_searched(scope_.snapshot(), reference);
  if (match_reference(scope_.elf_of(*only), asked) != Match::yes) return answer;
  answer.definer = answer.possible.front();
  answer.possible.clear();
  return answer;
}

Answer GlobalScope::look_up_after(std::size_t object, const Reference& reference) const {
  const auto entry = scope_.entry_of(object);
  const auto at = entry ? std::find(certain_.begin(), certain_.end(), *entry) : certain_.end();
  if (at == certain_.end()) return {};
  return search(static_cast<std::size_t>(at - certain_.begin()) + 1, reference);
}

std::vector<GlobalName> find_global_names(const Snapshot& snapshot) {
  const auto scope = GlobalScope::of(snapshot);
  if (!scope) return {};
  std::vector<GlobalName> out;
  for (const std::string_view name : asked_names()) {
    Answer answer = scope->look_up({name, {}});
    GlobalName& row = out.emplace_back();
    row.name = std::string(name);
    row.definer = answer.definer;
    row.possible = std::move(answer.possible);
    if (!answer.definer) continue;
    if (const ElfFacts* elf = snapshot.objects[*answer.definer].elf.get()) {
      row.version = definition_node(*elf);
    }
  }
  return out;
}

}  // namespace cudart_doctor
