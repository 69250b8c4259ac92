// Linked code: who answers a call of cudaMalloc that was bound by symbol. Its slot tells the truth;
// where none is bound yet, the order of global scope does, as far as it shows. And the hook of
// torch_memory_saver, which is preloaded to be first there.
#include "cudart_doctor/analyze/global_scope.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "cudart_doctor/analyze/names.hpp"
#include "cudart_doctor/analyze/objects_view.hpp"
#include "cudart_doctor/analyze/policy_families.hpp"
#include "cudart_doctor/analyze/provenance.hpp"
#include "cudart_doctor/analyze/step_log.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

constexpr std::string_view kName = "cudaMalloc";

/// A loaded object that refers to cudaMalloc.
struct User {
  std::size_t object = 0;
  std::string_view version;    ///< Node that the reference is tagged with; "" for none.
  const Slot* slot = nullptr;  ///< A bound one where there is one; nullptr: none is known.
};

const Slot* slot_of(const LoadedObject& object) {
  const auto* slots = object.slots.get();
  if (slots == nullptr) return nullptr;
  const Slot* found = nullptr;
  for (const Slot& slot : *slots) {
    if (slot.name != kName) continue;
    if (found == nullptr || slot.bound) found = &slot;
    if (found->bound) break;
  }
  return found;
}

std::vector<User> find_users(const Snapshot& snapshot) {
  std::vector<User> users;
  for (const std::size_t object : loaded_objects(snapshot)) {
    const ElfFacts* elf = snapshot.objects[object].elf.get();
    if (elf == nullptr) continue;
    const auto reference =
        std::find_if(elf->undefined.begin(), elf->undefined.end(),
                     [](const SymbolRef& symbol) { return symbol.name == kName; });
    if (reference == elf->undefined.end()) continue;
    users.push_back({object, reference->version, slot_of(snapshot.objects[object])});
  }
  return users;
}

std::string slot_sentence(const Snapshot& snapshot, const User& user) {
  const std::string tag = user.version.empty()
                              ? std::string(" (reference without a version)")
                              : " (reference to " + escape_foreign(user.version) + ")";
  const auto& slots = snapshot.objects[user.object].slots;
  if (!slots.is_known()) return "its slots could not be read: " + slots.reason() + tag;
  if (user.slot == nullptr) return "no slot for it was found" + tag;
  if (!user.slot->bound) return "its slot is not bound yet" + tag;
  const auto target = slot_target(snapshot, *user.slot);
  if (!target) return "its slot points to memory that belongs to no file" + tag;
  return "its slot points into " + escape_foreign(snapshot.objects[*target].path()) + tag;
}

Step definition_step(const Snapshot& snapshot, std::size_t object) {
  const ElfFacts* elf = snapshot.objects[object].elf.get();
  const std::string node = elf == nullptr ? std::string() : definition_node(*elf);
  return {snapshot.objects[object].path(), StepVerdict::taken,
          node.empty() ? "defines it without a version: accepted for a reference of any version"
                       : "defines it under the node " + escape_foreign(node)};
}

void take(Selection& selection, std::size_t object, std::string note) {
  selection.outcome = Outcome::selected;
  selection.object = object;
  selection.open = OpenOutcome::old_object;
  selection.open_note = std::move(note);
  selection.missing_known = true;  // It was found by its definition.
}

void leave_open(Selection& selection, std::string note) {
  selection.outcome = Outcome::undetermined;
  selection.open = OpenOutcome::unknown;
  selection.open_note = std::move(note);
}

/// What the order of global scope gives the users together.
struct Prediction {
  std::set<std::size_t> definers;
  std::set<std::size_t> possible;
};

Prediction predict(const GlobalScope& scope, const std::vector<User>& users) {
  Prediction out;
  for (const User& user : users) {
    const Answer answer = scope.look_up_from(user.object, {kName, user.version});
    if (answer.definer) out.definers.insert(*answer.definer);
    out.possible.insert(answer.possible.begin(), answer.possible.end());
  }
  return out;
}

void decide_by_order(const Snapshot& snapshot, const std::vector<User>& users,
                     Selection& selection) {
  const auto scope = GlobalScope::of(snapshot);
  if (!scope) {
    leave_open(selection, "no slot could be read, nor the loader's list");
    return;
  }
  const Prediction predicted = predict(*scope, users);
  if (predicted.definers.size() == 1 && predicted.possible.empty()) {
    take(selection, *predicted.definers.begin(), "by the order of global scope: no slot tells");
    selection.steps.push_back(definition_step(snapshot, *selection.object));
    return;
  }
  std::set<std::size_t> all = predicted.definers;
  all.insert(predicted.possible.begin(), predicted.possible.end());
  for (const std::size_t object : all) {
    selection.possible.push_back(snapshot.objects[object].path());
  }
  if (!all.empty()) {
    leave_open(selection, predicted.possible.empty()
                              ? "it depends on the version that a reference is tagged with"
                              : "which opened library is global does not show from outside");
    return;
  }
  selection.outcome = Outcome::not_found;
  selection.open_note = "no loaded object answers";
  selection.error_text = "undefined symbol: " + std::string(kName);
}

Selection decide_linked(const Policy& policy, const PolicyInput& input) {
  const Snapshot& snapshot = input.snapshot;
  Selection selection;
  selection.policy = std::string(policy.id);
  const std::vector<User> users = find_users(snapshot);
  if (users.empty()) {
    selection.outcome = Outcome::not_applicable;
    selection.open_note = "no loaded object refers to " + std::string(kName) + " by symbol";
    return selection;
  }
  StepLog log;
  std::set<std::size_t> targets;
  std::size_t bound = 0;
  for (const User& user : users) {
    log.add(snapshot.objects[user.object].path(), StepVerdict::noted,
            slot_sentence(snapshot, user));
    const auto target = user.slot == nullptr ? std::nullopt : slot_target(snapshot, *user.slot);
    if (!target) continue;
    targets.insert(*target);
    ++bound;
  }
  selection.steps = log.take();
  if (targets.empty()) {
    decide_by_order(snapshot, users, selection);
  } else if (targets.size() == 1) {
    take(selection, *targets.begin(),
         "the slots of " + count_of(bound, "library", "libraries") + " point into it");
    selection.steps.push_back(definition_step(snapshot, *selection.object));
  } else {
    for (const std::size_t object : targets) {
      selection.steps.push_back(definition_step(snapshot, object));
      selection.possible.push_back(snapshot.objects[object].path());
    }
    leave_open(selection, "it depends on the library: their slots point into different ones");
  }
  return selection;
}

bool takes_over(const Snapshot& snapshot, std::size_t object) {
  return match_reference(snapshot.objects[object].elf.get(), {kName, {}}) == Match::yes;
}

/// The loaded hook that defines cudaMalloc; the one of hook mode "torch" defines none.
std::optional<std::size_t> find_hook(const Snapshot& snapshot, std::vector<Step>& steps) {
  for (const std::size_t object : loaded_objects(snapshot)) {
    const std::string& path = snapshot.objects[object].path();
    if (!base_name(path).starts_with("torch_memory_saver")) continue;
    if (takes_over(snapshot, object)) return object;
    steps.push_back({path, StepVerdict::rejected, "takes over no name: another hook mode"});
  }
  return std::nullopt;
}

void follow_hook(const Snapshot& snapshot, std::size_t hook, Selection& selection) {
  const auto scope = GlobalScope::of(snapshot);
  const auto entry = scope ? scope->loaded().entry_of(hook) : std::nullopt;
  const bool preloaded =
      scope && std::any_of(scope->preloaded().begin(), scope->preloaded().end(),
                           [&](const Preloaded& each) { return each.entry == entry; });
  selection.steps.push_back(
      {snapshot.objects[hook].path(), StepVerdict::noted,
       preloaded ? "preloaded: takes over cudaMalloc and cudaFree of every linked library"
                 : "not preloaded: what is linked does not meet it"});
  if (!scope || !scope->has(hook)) {
    leave_open(selection, scope ? "what dlsym(RTLD_NEXT) finds depends on who opened the hook"
                                : "the loader's list could not be read");
    return;
  }
  const Answer next = scope->look_up_after(hook, {kName, {}});
  for (const std::size_t object : next.possible) {
    selection.possible.push_back(snapshot.objects[object].path());
  }
  if (next.definer) {
    take(selection, *next.definer, "the first definer behind the hook (RTLD_NEXT)");
    selection.steps.push_back(definition_step(snapshot, *next.definer));
  } else if (!next.possible.empty()) {
    leave_open(selection, "which opened library is global does not show from outside");
  } else {
    selection.outcome = Outcome::not_found;
    selection.open_note = "dlsym(RTLD_NEXT) finds nothing: the hook ends the process (exit 1)";
    selection.error_text = selection.open_note;
  }
}

Selection decide_memory_saver(const Policy& policy, const PolicyInput& input) {
  const Snapshot& snapshot = input.snapshot;
  Selection selection;
  selection.policy = std::string(policy.id);
  const auto hook = find_hook(snapshot, selection.steps);
  if (!hook) {
    selection.outcome = Outcome::not_applicable;
    selection.open_note = "its preloaded hook is not mapped";
    return selection;
  }
  follow_hook(snapshot, *hook, selection);
  check_names(policy, snapshot, selection);
  return selection;
}

}  // namespace

std::vector<Policy> global_scope_policies() {
  return {
      {.id = "elf-global",
       .title = "linked code (cudaMalloc)",
       .vintage = "all",
       .source = "glibc 2.36 (elf/dl-lookup.c), measured",
       .summary = "where the slots of libraries that call cudaMalloc point now; for slots that are "
                  "not bound yet the first definer in global scope: program, preloads, their "
                  "DT_NEEDED breadth first, then what was opened with RTLD_GLOBAL. A definition "
                  "without a version is accepted for any reference",
       .current = true,
       .decide = decide_linked},
      {.id = "torch-memory-saver",
       .title = "torch_memory_saver hook",
       .vintage = "hook mode preload, 0.0.10",
       .source = "torch_memory_saver_hook_mode_preload*.so of the wheel",
       .summary =
           "preloaded, it takes over cudaMalloc and cudaFree of all linked code and calls the "
           "next definer in global scope (dlsym RTLD_NEXT), whatever the caller's major; "
           "consumers that open a handle of their own go past it",
       .bound_names = names_memory_saver(),
       .current = true,
       .decide = decide_memory_saver}};
}

}  // namespace cudart_doctor
