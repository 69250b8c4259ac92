#include "cudart_doctor/analyze/policy.hpp"

#include <algorithm>

#include "cudart_doctor/analyze/policy_families.hpp"
#include "cudart_doctor/base/text.hpp"
#include "near_words.hpp"

namespace cudart_doctor {
namespace {

std::vector<Policy> make_table() {
  std::vector<Policy> table;
  for (auto family : {scanning_policies, torch_policies, torch_preload_policies, tilelang_policies,
                      cudnn_frontend_policies, pathfinder_policies, preload_policies,
                      static_policies, loader_policies, global_scope_policies}) {
    const std::vector<Policy> rows = family();
    table.insert(table.end(), rows.begin(), rows.end());
  }
  return table;
}

const Consumer* find_consumer(std::span<const Consumer> consumers, std::string_view id) {
  if (id.empty()) return nullptr;
  const auto found = std::find_if(consumers.begin(), consumers.end(),
                                  [&](const Consumer& consumer) { return consumer.id == id; });
  return found == consumers.end() ? nullptr : &*found;
}

struct PresenceNote {
  Presence presence = Presence::unknown;
  std::string note;
};

/// A rule that stands beside the consumer's main one follows the version that first ships it.
PresenceNote presence_since(const Policy& policy, const Consumer& consumer,
                            const std::string& name) {
  if (consumer.version.empty()) return {Presence::unknown, name + ", version not known"};
  if (compare_versions(consumer.version, policy.since) < 0) {
    return {Presence::absent, name + " does not have this rule yet"};
  }
  if (!policy.before.empty() && compare_versions(consumer.version, policy.before) >= 0) {
    return {Presence::absent, name + " does not have this rule any more"};
  }
  return {Presence::present, name};
}

PresenceNote presence_of(const Policy& policy, const Consumer* consumer) {
  const PresenceNote never{Presence::absent, "in no release"};
  if (consumer == nullptr) return policy.released ? PresenceNote{} : never;
  if (consumer->presence == Presence::absent) return {Presence::absent, "not installed"};
  std::string name = consumer->name;
  if (!consumer->version.empty()) name += ' ' + escape_foreign(consumer->version);
  const bool exact = consumer->vintage == policy.id;
  if (!policy.released && !exact) return never;
  if (consumer->presence == Presence::unknown) return {Presence::unknown, {}};
  if (!policy.since.empty()) return presence_since(policy, *consumer, name);
  if (exact) return {Presence::present, name};
  if (consumer->vintage.empty()) return {Presence::unknown, name + ", vintage not known"};
  return {Presence::absent, "another vintage is installed (" + consumer->vintage + ")"};
}

}  // namespace

// Every rule requires libcudart in the line; the wider word keeps names such as libstub_cudart.so
// among the steps.
PolicyInput::PolicyInput(const Snapshot& snapshot_seen, std::span<const Candidate> candidates_seen)
    : snapshot(snapshot_seen),
      candidates(candidates_seen),
      cudart_lines(python_lines_with(snapshot_seen.maps, "cudart")) {}

std::span<const Policy> policies() {
  static const std::vector<Policy> kTable = make_table();
  return kTable;
}

const Policy* find_policy(std::string_view id_or_rule) {
  if (id_or_rule.empty()) return nullptr;
  for (const Policy& policy : policies()) {
    if (policy.id == id_or_rule) return &policy;
  }
  for (const Policy& policy : policies()) {
    if (policy.rule == id_or_rule) return &policy;
  }
  return nullptr;
}

std::vector<std::string> near_policies(std::string_view word) {
  constexpr std::size_t kMost = 8;
  constexpr std::size_t kFewestLetters = 3;
  const std::string wanted = folded(word);
  std::vector<std::string> out;
  NearWords near(word);
  for (const Policy& policy : policies()) {
    near.offer(policy.id);
    const bool within = wanted.size() >= kFewestLetters &&
                        (policy.consumer == wanted || policy.id.find(wanted) != std::string::npos);
    if (within && out.size() < kMost) out.emplace_back(policy.id);
  }
  return out.empty() ? near.take() : out;
}

std::vector<DiskRequest> wanted_by_policies(const Snapshot& snapshot) {
  std::vector<DiskRequest> wanted;
  for (const Policy& policy : policies()) {
    if (policy.wanted == nullptr) continue;
    const auto more = policy.wanted(snapshot);
    wanted.insert(wanted.end(), more.begin(), more.end());
  }
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  return wanted;
}

std::vector<Selection> select_all(const PolicyInput& input, std::span<const Consumer> consumers) {
  std::vector<Selection> selections;
  for (const Policy& policy : policies()) {
    Selection selection = policy.decide(policy, input);
    PresenceNote presence = presence_of(policy, find_consumer(consumers, policy.consumer));
    selection.presence = presence.presence;
    selection.presence_note = std::move(presence.note);
    selection.title = policy.title;
    selection.consumer = policy.consumer;
    selection.vintage = policy.vintage;
    selection.source = policy.source;
    selection.current = policy.current;
    selection.preload = policy.preload;
    selection.bound = static_cast<std::uint32_t>(policy.bound_names.size());
    selections.push_back(std::move(selection));
  }
  return selections;
}

}  // namespace cudart_doctor
