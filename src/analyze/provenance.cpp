#include "cudart_doctor/analyze/provenance.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "cudart_doctor/analyze/load_scope.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

/// A namespace with what is asked of it for every candidate.
struct Space {
  LoadScope scope;
  std::vector<std::vector<NeededBy>> needed_by;  ///< For each entry of the scope.
  std::vector<Preloaded> preloaded;
  std::string doubt;  ///< Why "no library lists it" cannot be said; "" where it can.
};

std::string doubt_about(const LoadScope& scope, const std::string& note) {
  if (!note.empty()) return "the loader's list could not be followed: " + note;
  const auto& entries = scope.entries();
  const auto unread = std::count_if(entries.begin(), entries.end(), [&](const auto& entry) {
    return scope.snapshot().objects[entry.object].elf.get() == nullptr;
  });
  if (unread == 0) return {};
  return count_of(static_cast<std::uint64_t>(unread), "loaded object") +
         " could not be read and may need it";
}

Space make_space(LoadScope scope, const std::string& note) {
  Space space{std::move(scope), {}, {}, {}};
  const auto& entries = space.scope.entries();
  space.needed_by.resize(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    for (const LoadScope::Need& need : space.scope.needs(i)) {
      if (need.entry == i) continue;
      space.needed_by[need.entry].push_back({entries[i].object, std::string(need.soname)});
    }
  }
  for (auto& list : space.needed_by) {
    std::ranges::sort(list, [](const NeededBy& a, const NeededBy& b) {
      return std::tie(a.object, a.soname) < std::tie(b.object, b.soname);
    });
  }
  space.preloaded = find_preloaded(space.scope);
  space.doubt = doubt_about(space.scope, note);
  return space;
}

/// Every namespace of the link map; one by address where it could not be read.
std::vector<Space> find_spaces(const Snapshot& snapshot) {
  std::vector<Space> spaces;
  if (const auto* namespaces = snapshot.link_map.get()) {
    for (const LinkNamespace& space : *namespaces) {
      spaces.push_back(make_space(LoadScope(snapshot, space), space.note));
    }
    return spaces;
  }
  spaces.push_back(make_space(LoadScope(snapshot), {}));
  spaces.back().doubt = "the loader's list could not be read: " + snapshot.link_map.reason();
  return spaces;
}

/// Whether all who need it were loaded later. Who needs a library is loaded first, so something
/// else brought it.
bool precedes_all(const Space& space, std::size_t entry) {
  const auto& needers = space.needed_by[entry];
  const auto own = space.scope.entries()[entry].position;
  return own && std::all_of(needers.begin(), needers.end(), [&](const NeededBy& needer) {
           const auto other = space.scope.entry_of(needer.object);
           return other && space.scope.entries()[*other].position > own;
         });
}

void fill_arrival(Provenance& out, const Space& space, std::size_t entry) {
  const auto preload = std::find_if(space.preloaded.begin(), space.preloaded.end(),
                                    [&](const Preloaded& each) { return each.entry == entry; });
  if (space.scope.id() == 0 && out.load_order == 0U) {
    out.arrival = Arrival::program;
  } else if (preload != space.preloaded.end()) {
    out.arrival = Arrival::preload;
    out.arrival_note = std::string(preload->source);
  } else if (!out.needed_by.empty()) {
    out.arrival = Arrival::needed;
    if (precedes_all(space, entry)) {
      out.arrival_note =
          "loaded before all who need it: opened with dlopen, or brought by something unloaded "
          "since";
    }
  } else if (space.doubt.empty()) {
    out.arrival = Arrival::opened;
  } else {
    out.arrival_note = space.doubt;
  }
}

Provenance provenance_of(const Candidate& candidate, const std::vector<Space>& spaces) {
  Provenance out;
  if (!candidate.object) {
    out.arrival_note = "not mapped";
    return out;
  }
  for (const Space& space : spaces) {
    const auto entry = space.scope.entry_of(*candidate.object);
    if (!entry) continue;
    out.loader_namespace = space.scope.id();
    out.load_order = space.scope.entries()[*entry].position;
    out.needed_by = space.needed_by[*entry];
    fill_arrival(out, space, *entry);
    return out;
  }
  out.arrival_note = candidate.loaded
                         ? "the loader's list does not have it: mapped by hand, or in a namespace "
                           "that is not shown"
                         : "mapped as data, not loaded";
  return out;
}

/// Where the slots of an object lead, by name: to nothing where none of a name is bound.
using Onward = std::unordered_map<std::string_view, std::optional<std::uint32_t>>;

/// As slot_target decides for one slot: the first bound one counts.
Onward onward_of(const LoadedObject& object) {
  Onward out;
  const auto* slots = object.slots.get();
  if (slots == nullptr) return out;
  std::unordered_set<std::string_view> bound;
  for (const Slot& slot : *slots) {
    std::optional<std::uint32_t>& target = out[slot.name];
    if (slot.bound && bound.insert(slot.name).second) target = slot.object;
  }
  return out;
}

}  // namespace

std::optional<std::size_t> slot_target(const Snapshot& snapshot, const Slot& slot) {
  if (!slot.bound || !slot.object) return std::nullopt;
  const auto* onward = snapshot.objects[*slot.object].slots.get();
  if (onward == nullptr) return slot.object;
  std::optional<std::size_t> target = slot.object;
  for (const Slot& next : *onward) {
    if (next.name != slot.name) continue;
    if (next.bound) return next.object;
    target.reset();
  }
  return target;
}

SlotUses::SlotUses(const Snapshot& snapshot) {
  std::unordered_map<std::size_t, Onward> onward;
  for (std::size_t user = 0; user < snapshot.objects.size(); ++user) {
    const auto* slots = snapshot.objects[user].slots.get();
    if (slots == nullptr) continue;
    for (const Slot& slot : *slots) {
      if (!slot.bound || !slot.object) continue;
      auto known = onward.find(*slot.object);
      if (known == onward.end()) {
        known = onward.emplace(*slot.object, onward_of(snapshot.objects[*slot.object])).first;
      }
      const auto next = known->second.find(slot.name);
      const auto target = next == known->second.end() ? slot.object : next->second;
      if (target) uses_[*target][user].push_back(slot.name);
    }
  }
  for (auto& [target, users] : uses_) {
    for (auto& [user, names] : users) {
      std::ranges::sort(names);
      const auto rest = std::ranges::unique(names);
      names.erase(rest.begin(), rest.end());
    }
  }
}

std::vector<SlotUse> SlotUses::of(std::size_t object) const {
  std::vector<SlotUse> out;
  const auto found = uses_.find(object);
  if (found == uses_.end()) return out;
  for (const auto& [user, names] : found->second) {
    out.push_back({user, {names.begin(), names.end()}});
  }
  return out;
}

std::vector<Provenance> find_provenance(const Snapshot& snapshot,
                                        std::span<const Candidate> candidates) {
  std::vector<Provenance> out;
  if (candidates.empty()) return out;
  const std::vector<Space> spaces = find_spaces(snapshot);
  const SlotUses uses(snapshot);
  for (const Candidate& candidate : candidates) {
    Provenance& each = out.emplace_back(provenance_of(candidate, spaces));
    if (candidate.object) each.used_by = uses.of(*candidate.object);
  }
  return out;
}

}  // namespace cudart_doctor
