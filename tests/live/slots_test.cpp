// Slots, global scope and who brought a runtime, against glibc's own loader: the victim says which
// file its calls reach (dladdr) and what dlsym finds.
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "cudart_doctor/analyze/global_scope.hpp"
#include "cudart_doctor/analyze/judge.hpp"
#include "cudart_doctor/analyze/scan_plan.hpp"
#include "live_support.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using live::Scratch;
using live::Victim;

namespace {

/// The rules of the program itself.
Snapshot look_at(const Victim& victim) {
  CaptureOptions options;
  options.pid = victim.pid();
  CaptureRules rules;
  rules.plan = [](const ElfFacts& elf, std::string_view path) {
    return plan_scan(elf, path, ScanDepth::usual);
  };
  rules.is_cuda_name = is_cuda_name;
  auto snapshot = capture_process(options, rules);
  REQUIRE(snapshot);
  return std::move(*snapshot);
}

std::size_t index_of(const Snapshot& snapshot, const std::string& path) {
  const auto* object = live::object_at(snapshot, path);
  REQUIRE(object != nullptr);
  return static_cast<std::size_t>(object - snapshot.objects.data());
}

/// The definers and users of one folder.
struct Folder {
  Scratch scratch;
  std::string alloc12 = scratch.copy_toy("toy_alloc12", "libcudart.so.12");
  std::string alloc13 = scratch.copy_toy("toy_alloc13", "libcudart.so.13");
  std::string stub = scratch.copy_toy("toy_alloc_stub", "libcudart_stub.so");
  std::string hook = scratch.copy_toy("toy_hook", "hook.so");
  [[nodiscard]] std::string user(std::string_view name) const {
    return scratch.copy_toy(name, std::string(name) + ".so");
  }
};

/// The file that the slot of `path` for cudaMalloc points into; "not bound", or why it is unknown.
std::string slot_of(const Snapshot& snapshot, const std::string& path) {
  const auto& slots = snapshot.objects[index_of(snapshot, path)].slots;
  if (!slots.is_known()) return slots.reason();
  for (const Slot& slot : *slots.get()) {
    if (slot.name != "cudaMalloc") continue;
    if (!slot.bound) return "not bound";
    return slot.object ? snapshot.objects[*slot.object].path() : "no object";
  }
  return "no slot";
}

/// What the order of global scope says of the reference of `path`: a file, or "? a b".
std::string predicted(const Snapshot& snapshot, const std::string& path) {
  const auto scope = GlobalScope::of(snapshot);
  REQUIRE(scope);
  const std::size_t object = index_of(snapshot, path);
  const auto& undefined = snapshot.objects[object].elf.get()->undefined;
  REQUIRE(undefined.size() == 1);
  const Answer answer = scope->look_up_from(object, {"cudaMalloc", undefined.front().version});
  if (answer.definer) return snapshot.objects[*answer.definer].path();
  std::string out = "?";
  for (const std::size_t each : answer.possible) out += " " + snapshot.objects[each].path();
  return out;
}

GlobalName global_malloc(const Snapshot& snapshot) {
  const auto names = find_global_names(snapshot);
  REQUIRE_FALSE(names.empty());
  return names.front();
}

Provenance provenance_of(const Snapshot& snapshot, const std::string& path) {
  const Report report = identify(snapshot, {});
  for (std::size_t i = 0; i < report.candidates.size(); ++i) {
    if (report.candidates[i].path == path) return report.provenance.at(i);
  }
  FAIL("no candidate at " + path);
  return {};
}

std::function<void()> preloading(const std::string& path) {
  return [path] { ::setenv("LD_PRELOAD", path.c_str(), 1); };
}

}  // namespace

TEST_CASE("a bound slot points where the call goes") {
  const auto* name = GENERATE("toy_user12", "toy_data12", "toy_user13", "toy_user_stub");
  const Folder folder;
  const std::string user = folder.user(name);
  Victim victim;
  REQUIRE(victim.tell("dlopen", user) == "ready");
  const std::string called = victim.tell("call", user);
  const Snapshot snapshot = look_at(victim);
  CHECK(slot_of(snapshot, user) == called);
  CHECK(predicted(snapshot, user) == called);
  CHECK(called.starts_with(folder.scratch.path("libcudart")));
}

TEST_CASE("a lazy slot is not bound before its first call") {
  const Folder folder;
  const std::string user = folder.user("toy_lazy12");
  Victim victim;
  REQUIRE(victim.tell("dlopen_lazy", user) == "ready");
  CHECK(slot_of(look_at(victim), user) == "not bound");
  const std::string called = victim.tell("call", user);
  CHECK(called == folder.alloc12);
  CHECK(slot_of(look_at(victim), user) == called);
}

TEST_CASE("an unversioned preload takes tagged references over") {
  const Folder folder;
  const std::string user = folder.user("toy_user12");
  Victim victim(preloading(folder.hook));
  REQUIRE(victim.tell("dlopen", user) == "ready");
  const std::string called = victim.tell("call", user);
  const Snapshot snapshot = look_at(victim);
  CHECK(called == folder.hook);
  CHECK(slot_of(snapshot, user) == called);
  CHECK(predicted(snapshot, user) == called);
  const GlobalName malloc = global_malloc(snapshot);
  CHECK(malloc.definer == index_of(snapshot, victim.tell("default", "cudaMalloc")));
  CHECK(malloc.version.empty());
}

TEST_CASE("a tagged reference skips a preload of another node") {
  const Folder folder;
  const std::string user = folder.user("toy_user12");
  Victim victim(preloading(folder.alloc13));
  REQUIRE(victim.tell("dlopen", user) == "ready");
  const std::string called = victim.tell("call", user);
  const Snapshot snapshot = look_at(victim);
  CHECK(called == folder.alloc12);
  CHECK(slot_of(snapshot, user) == called);
  CHECK(predicted(snapshot, user) == called);
  const GlobalName malloc = global_malloc(snapshot);
  CHECK(malloc.definer == index_of(snapshot, victim.tell("default", "cudaMalloc")));
  CHECK(malloc.version == "libcudart.so.13");
  CHECK(provenance_of(snapshot, folder.alloc13).arrival == Arrival::preload);
}

TEST_CASE("whether an opened runtime is global does not show: it is possible, never certain") {
  const auto* verb = GENERATE("dlopen", "dlopen_global");
  const Folder folder;
  Victim victim;
  REQUIRE(victim.tell(verb, folder.alloc12) == "ready");
  const std::string found = victim.tell("default", "cudaMalloc");
  const Snapshot snapshot = look_at(victim);
  const GlobalName malloc = global_malloc(snapshot);
  CHECK_FALSE(malloc.definer);
  CHECK(malloc.possible == std::vector<std::size_t>{index_of(snapshot, folder.alloc12)});
  CHECK(found == (std::string(verb) == "dlopen" ? "none" : folder.alloc12));
}

TEST_CASE("a global stub captures a tagged reference: the slot says so, the order cannot") {
  const Folder folder;
  const std::string user = folder.user("toy_user12");
  Victim victim;
  REQUIRE(victim.tell("dlopen_global", folder.stub) == "ready");
  REQUIRE(victim.tell("dlopen", user) == "ready");
  const std::string called = victim.tell("call", user);
  const Snapshot snapshot = look_at(victim);
  CHECK(called == folder.stub);
  CHECK(slot_of(snapshot, user) == called);
  CHECK(predicted(snapshot, user) == "? " + folder.stub + " " + folder.alloc12);
}

TEST_CASE("the policy of linked code follows the slots") {
  const Folder folder;
  const std::string user = folder.user("toy_user12");
  Victim victim;
  REQUIRE(victim.tell("dlopen_global", folder.stub) == "ready");
  REQUIRE(victim.tell("dlopen", user) == "ready");
  const Report report = identify(look_at(victim), {});
  const auto row =
      std::find_if(report.selections.begin(), report.selections.end(),
                   [](const Selection& selection) { return selection.policy == "elf-global"; });
  REQUIRE(row != report.selections.end());
  CHECK(row->object == index_of(report.snapshot, folder.stub));
}

TEST_CASE("who needs a runtime is found by the live link map, and who uses it by the slots") {
  const Folder folder;
  const std::string user = folder.user("toy_user12");
  const std::string second = folder.scratch.path("second-libcudart.so.12");
  live::copy_file(folder.alloc12, second);
  Victim victim;
  REQUIRE(victim.tell("dlopen", user) == "ready");
  REQUIRE(victim.tell("dlopen", second) == "ready");
  const Snapshot snapshot = look_at(victim);
  const Provenance first = provenance_of(snapshot, folder.alloc12);
  CHECK(first.arrival == Arrival::needed);
  REQUIRE(first.needed_by.size() == 1);
  CHECK(first.needed_by.front().object == index_of(snapshot, user));
  REQUIRE(first.used_by.size() == 1);
  CHECK(first.used_by.front().object == index_of(snapshot, user));
  CHECK(first.used_by.front().names == std::vector<std::string>{"cudaMalloc"});
  const Provenance other = provenance_of(snapshot, second);
  CHECK(other.arrival == Arrival::opened);
  CHECK(other.needed_by.empty());
  CHECK(other.used_by.empty());
  REQUIRE(other.load_order);
  REQUIRE(first.load_order);
  CHECK(*first.load_order < *other.load_order);
}

TEST_CASE("slots of libraries whose files are gone are read all the same") {
  const Folder folder;
  const std::string user = folder.user("toy_user12");
  Victim victim;
  REQUIRE(victim.tell("dlopen", user) == "ready");
  const std::string called = victim.tell("call", user);
  REQUIRE(::unlink(user.c_str()) == 0);
  REQUIRE(::unlink(folder.alloc12.c_str()) == 0);
  CHECK(slot_of(look_at(victim), user) == called);
}

TEST_CASE("slots in another loader namespace point into its own objects") {
  const Folder folder;
  const std::string user = folder.user("toy_user13");
  Victim victim;
  REQUIRE(victim.tell("dlmopen", user) == "ready");
  const Snapshot snapshot = look_at(victim);
  if (snapshot.link_map.get()->size() == 1) {
    // Before glibc 2.35 other namespaces cannot be followed.
    CHECK(slot_of(snapshot, user) == "the loader's list does not have the object");
    return;
  }
  CHECK(slot_of(snapshot, user) == folder.alloc13);
  const Provenance runtime = provenance_of(snapshot, folder.alloc13);
  CHECK(runtime.loader_namespace == 1);
  CHECK(runtime.arrival == Arrival::needed);
  CHECK_FALSE(global_malloc(snapshot).definer);
  CHECK(global_malloc(snapshot).possible.empty());
}

TEST_CASE("an object that refers to no name of the runtime is not asked for slots") {
  const Folder folder;
  Victim victim;
  REQUIRE(victim.tell("dlopen", folder.alloc12) == "ready");
  const Snapshot snapshot = look_at(victim);
  CHECK_FALSE(snapshot.objects[index_of(snapshot, folder.alloc12)].slots.is_asked());
}
