#include "analyze/diff_pairs.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <string>

namespace cudart_doctor {
namespace {

/// What tells a trait from others.
using Key = std::function<std::string(const Trait&)>;

/// Who stands for whom so far.
struct Pairing {
  std::vector<const Trait*> partner;  ///< Of each of the first; nullptr: none.
  std::vector<bool> taken;            ///< Of the second.
};

/// Pairs what is still alone and has the same key, in the order of both.
Pairing paired_by(Pairing pairing, const std::vector<const Trait*>& first,
                  const std::vector<const Trait*>& second, const Key& key) {
  std::map<std::string, std::vector<std::size_t>> free;
  for (std::size_t i = second.size(); i-- > 0;) {
    if (!pairing.taken[i]) free[key(*second[i])].push_back(i);
  }
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (pairing.partner[i] != nullptr) continue;
    const auto found = free.find(key(*first[i]));
    if (found == free.end() || found->second.empty()) continue;
    const std::size_t other = found->second.back();
    found->second.pop_back();
    pairing.partner[i] = second[other];
    pairing.taken[other] = true;
  }
  return pairing;
}

std::string whole(const Trait& trait) {
  std::string out = trait.keys[1];
  for (const Attribute& attribute : trait.attributes) {
    // A NUL and the sign keep neighbours and unknown values apart.
    out.append(1, '\0').append(attribute.name).append(1, attribute.known ? '=' : '?');
    if (attribute.known) out += attribute.value;
  }
  return out;
}

const Attribute* find_attribute(const Trait& trait, const std::string& name) {
  const auto found =
      std::find_if(trait.attributes.begin(), trait.attributes.end(),
                   [&](const Attribute& attribute) { return attribute.name == name; });
  return found == trait.attributes.end() ? nullptr : &*found;
}

Change change_of(const Trait& trait, ChangeKind kind) {
  Change out;
  out.area = trait.area;
  out.kind = kind;
  out.subject = trait.title;
  return out;
}

/// The value that is worth a word where a trait stands alone: the first one.
Change alone(const Trait& trait, ChangeKind kind) {
  Change out = change_of(trait, kind);
  if (trait.attributes.empty()) return out;
  (kind == ChangeKind::removed ? out.before : out.after) = trait.attributes.front();
  return out;
}

Change attribute_change(const Trait& second, const Attribute* before, const Attribute* after) {
  Change out = change_of(second, ChangeKind::changed);
  out.attribute = before != nullptr ? before->name : after->name;
  if (before != nullptr) out.before = *before;
  if (after != nullptr) out.after = *after;
  return out;
}

std::vector<Change> between(const Trait& first, const Trait& second) {
  std::vector<Change> out;
  for (const Attribute& before : first.attributes) {
    const Attribute* const after = find_attribute(second, before.name);
    if (after != nullptr && !(before == *after)) {
      out.push_back(attribute_change(second, &before, after));
    }
  }
  // What one side does not speak of follows from what differs: an absent consumer takes nothing.
  if (!out.empty()) return out;
  for (const Attribute& before : first.attributes) {
    if (find_attribute(second, before.name) == nullptr) {
      out.push_back(attribute_change(second, &before, nullptr));
    }
  }
  for (const Attribute& after : second.attributes) {
    if (find_attribute(first, after.name) == nullptr) {
      out.push_back(attribute_change(second, nullptr, &after));
    }
  }
  if (out.empty() && first.keys[1] != second.keys[1]) {
    const Attribute before{"identity", first.keys[1], true};
    const Attribute after{"identity", second.keys[1], true};
    out.push_back(attribute_change(second, &before, &after));
  }
  return out;
}

}  // namespace

std::vector<Change> paired_changes(const std::vector<const Trait*>& first,
                                   const std::vector<const Trait*>& second) {
  Pairing pairing{std::vector<const Trait*>(first.size(), nullptr),
                  std::vector<bool>(second.size(), false)};
  // What is wholly equal goes first: then two reports with the same traits never differ.
  pairing = paired_by(std::move(pairing), first, second, whole);
  for (std::size_t level = 0; level < 3; ++level) {
    pairing = paired_by(std::move(pairing), first, second,
                        [level](const Trait& trait) { return trait.keys[level]; });
  }
  std::vector<Change> out;
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (pairing.partner[i] == nullptr) out.push_back(alone(*first[i], ChangeKind::removed));
  }
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (pairing.partner[i] == nullptr) continue;
    const auto more = between(*first[i], *pairing.partner[i]);
    out.insert(out.end(), more.begin(), more.end());
  }
  for (std::size_t i = 0; i < second.size(); ++i) {
    if (!pairing.taken[i]) out.push_back(alone(*second[i], ChangeKind::added));
  }
  return out;
}

}  // namespace cudart_doctor
