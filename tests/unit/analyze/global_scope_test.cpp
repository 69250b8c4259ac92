// Who answers a reference by name: order of global scope, version nodes, what cannot be seen.
#include "cudart_doctor/analyze/global_scope.hpp"

#include <string>
#include <vector>

#include "scope_world.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

namespace {

const std::vector<std::string> kMalloc = {"cudaMalloc"};
constexpr const char* kNode12 = "libcudart.so.12";
constexpr const char* kNode13 = "libcudart.so.13";
const std::string kR12 = "/r/libcudart.so.12";
const std::string kR13 = "/r/libcudart.so.13";
const std::string kHook = "/h/hook.so";
const std::string kUser = "/u/user.so";

Library program(std::vector<std::string> needed) { return {kProgram, std::move(needed)}; }
Library runtime12(const std::string& path = kR12) {
  return {path, {}, kMalloc, kNode12, {}, kNode12};
}
Library runtime13() { return {kR13, {}, kMalloc, kNode13}; }
Library hook() { return {kHook, {}, kMalloc}; }
Library user(std::string needs, std::string tag) {
  return {kUser, {std::move(needs)}, {}, {}, {{"cudaMalloc", std::move(tag)}}};
}

std::string look_up(const SnapshotBuilder& builder, std::string_view version = {}) {
  const Snapshot snapshot = builder.build();
  const auto scope = GlobalScope::of(snapshot);
  REQUIRE(scope);
  return shown(snapshot, scope->look_up({"cudaMalloc", version}));
}

std::string from_user(const SnapshotBuilder& builder, std::string_view version) {
  const Snapshot snapshot = builder.build();
  const auto scope = GlobalScope::of(snapshot);
  REQUIRE(scope);
  return shown(snapshot, scope->look_up_from(index_of(snapshot, kUser), {"cudaMalloc", version}));
}

}  // namespace

TEST_CASE("what the program needs is in global scope for certain") {
  CHECK(look_up(process_of({program({kNode12}), runtime12()})) == "= " + kR12);
}

TEST_CASE("whether an opened runtime is global does not show") {
  CHECK(look_up(process_of({program({}), runtime12()})) == "? " + kR12);
  CHECK(look_up(process_of({program({}), runtime12(), runtime13()})) == "? " + kR12 + " " + kR13);
  CHECK(look_up(process_of({program({})})) == "?");
}

TEST_CASE("opened objects come behind those that are certain") {
  CHECK(look_up(process_of({program({kNode13}), runtime13(), runtime12()})) == "= " + kR13);
}

TEST_CASE("global scope is breadth first, not in load order") {
  const Library near{"/n/libnear.so", {}, kMalloc};
  const Library a{"/n/liba.so", {"libdeep.so"}};
  const Library deep{"/n/libdeep.so", {}, kMalloc};
  CHECK(look_up(process_of({program({"liba.so", "libnear.so"}), deep, a, near})) ==
        "= /n/libnear.so");
}

TEST_CASE("a preload is first, and unversioned it captures tagged references") {
  SnapshotBuilder builder =
      process_of({program({kNode12}), hook(), runtime12(), user(kNode12, kNode12)});
  builder.env("LD_PRELOAD", kHook);
  CHECK(look_up(builder) == "= " + kHook);
  CHECK(look_up(builder, kNode12) == "= " + kHook);
  CHECK(from_user(builder, kNode12) == "= " + kHook);
}

TEST_CASE("a tagged reference skips a definer of another node, one without a tag does not") {
  SnapshotBuilder builder =
      process_of({program({}), runtime13(), runtime12(), user(kNode12, kNode12)});
  builder.env("LD_PRELOAD", kR13);
  CHECK(look_up(builder) == "= " + kR13);
  CHECK(from_user(builder, kNode12) == "= " + kR12);
  CHECK(from_user(builder, "") == "= " + kR13);
}

TEST_CASE("the only definer among what an object needs answers it, global or not") {
  const auto process = process_of({program({}), user(kNode12, kNode12), runtime12()});
  CHECK(from_user(process, kNode12) == "= " + kR12);
  CHECK(look_up(process) == "? " + kR12);
}

TEST_CASE("an opened stub without versions may capture a tagged reference") {
  const Library stub{"/t/libcudart_stub.so", {}, kMalloc};
  CHECK(from_user(process_of({program({}), stub, user(kNode12, kNode12), runtime12()}), kNode12) ==
        "? /t/libcudart_stub.so " + kR12);
}

TEST_CASE("two copies of one node: the one outside may have been promoted first") {
  const auto process = process_of(
      {program({}), runtime12("/s/libcudart.so.12"), user(kNode12, kNode12), runtime12()});
  CHECK(from_user(process, kNode12) == "? /s/libcudart.so.12 " + kR12);
}

TEST_CASE("an object that could not be read may be the first definer") {
  SnapshotBuilder builder =
      process_of({program({"libodd.so", kNode12}), {"/o/libodd.so"}, runtime12()});
  builder.unread("/o/libodd.so", "refused");
  CHECK(look_up(builder) == "? /o/libodd.so " + kR12);
}

TEST_CASE("of names under several nodes in one object it is not known which has which") {
  Snapshot snapshot = process_of({program({kNode12}), runtime12()}).build();
  auto& nodes = snapshot.objects[index_of(snapshot, kR12)].elf.get()->runtime_nodes;
  nodes = {"OTHER", kNode12};
  const auto scope = GlobalScope::of(snapshot);
  REQUIRE(scope);
  CHECK(shown(snapshot, scope->look_up({"cudaMalloc", kNode12})) == "? " + kR12);
  CHECK(shown(snapshot, scope->look_up({"cudaMalloc", {}})) == "= " + kR12);
  CHECK(shown(snapshot, scope->look_up({"cudaMalloc", kNode13})) == "?");
}

TEST_CASE("musl does not look at versions") {
  Snapshot snapshot = process_of({program({kNode13}), runtime13(), runtime12()}).build();
  snapshot.process.libc = "musl";
  const auto scope = GlobalScope::of(snapshot);
  REQUIRE(scope);
  CHECK(shown(snapshot, scope->look_up({"cudaMalloc", kNode12})) == "= " + kR13);
}

TEST_CASE("RTLD_NEXT goes on behind the object, and finds a runtime of any major") {
  SnapshotBuilder builder = process_of({program({}), hook(), runtime13(), runtime12()});
  builder.env("LD_PRELOAD", "libother.so:" + kHook);
  Snapshot snapshot = builder.build();
  snapshot.objects[index_of(snapshot, kHook)].elf.get()->needed = {kNode13};
  const auto scope = GlobalScope::of(snapshot);
  REQUIRE(scope);
  const Answer next = scope->look_up_after(index_of(snapshot, kHook), {"cudaMalloc", {}});
  CHECK(shown(snapshot, next) == "= " + kR13);
}

TEST_CASE("a library that LD_PRELOAD names and that was opened later is no preload") {
  SnapshotBuilder builder = process_of({program({"libc.so.6"}), {"/l/libc.so.6"}, hook()});
  builder.env("LD_PRELOAD", kHook);
  CHECK(look_up(builder) == "? " + kHook);
}

TEST_CASE("without the environment the place in load order tells what was preloaded") {
  SnapshotBuilder builder = process_of({program({kNode12}), hook(), runtime12()});
  Snapshot snapshot = builder.build();
  snapshot.environment = Fact<Environment>::unknown("refused");
  const auto scope = GlobalScope::of(snapshot);
  REQUIRE(scope);
  REQUIRE(scope->preloaded().size() == 1);
  CHECK(shown(snapshot, scope->look_up({"cudaMalloc", {}})) == "= " + kHook);
}

TEST_CASE("the preload file counts as LD_PRELOAD does") {
  DiskEntry file;
  file.kind = DiskKind::file;
  file.text = Fact<std::string>::known("# hooks\n" + kHook + "\n");
  SnapshotBuilder builder = process_of({program({kNode12}), hook(), runtime12()});
  builder.disk("/etc/ld.so.preload", file);
  CHECK(look_up(builder) == "= " + kHook);
}

TEST_CASE("without a link map nothing is said of global scope") {
  Snapshot snapshot = process_of({program({kNode12}), runtime12()}).build();
  snapshot.link_map = Fact<std::vector<LinkNamespace>>::unknown("refused");
  CHECK_FALSE(GlobalScope::of(snapshot));
  CHECK(find_global_names(snapshot).empty());
}

TEST_CASE("every name that a consumer binds is asked of global scope once, cudaMalloc first") {
  const Snapshot snapshot = process_of({program({kNode12}), runtime12()}).build();
  const auto names = find_global_names(snapshot);
  REQUIRE(names.size() == 14);
  CHECK(names.front().name == "cudaMalloc");
  CHECK(names.front().definer == index_of(snapshot, kR12));
  CHECK(names.front().version == kNode12);
  CHECK(names.front().possible.empty());
  CHECK_FALSE(names.back().definer);
}
