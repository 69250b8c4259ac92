// Who brought a candidate, and whose slots point into it.
#include "cudart_doctor/analyze/provenance.hpp"

#include <chrono>
#include <string>
#include <vector>

#include "scope_world.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

namespace {

const std::string kSoname = "libcudart.so.12";
const std::string kWheel = "/w/libcudart.so.12";
const std::string kToolkit = "/t/libcudart.so.12";
const std::string kUser = "/u/libuser.so";

Library runtime(const std::string& path) {
  return {path, {}, {"cudaMalloc"}, kSoname, {}, kSoname};
}
Library user(const std::string& path = kUser) {
  return {path, {kSoname}, {}, {}, {{"cudaMalloc", kSoname}}};
}

Provenance of(const Snapshot& snapshot, const std::string& path) {
  Candidate candidate;
  candidate.object = index_of(snapshot, path);
  candidate.path = path;
  candidate.loaded = true;
  return find_provenance(snapshot, std::vector<Candidate>{candidate}).front();
}

std::vector<std::string> needers(const Snapshot& snapshot, const Provenance& provenance) {
  std::vector<std::string> out;
  for (const NeededBy& each : provenance.needed_by) {
    out.push_back(snapshot.objects[each.object].path() + " " + each.soname);
  }
  return out;
}

}  // namespace

TEST_CASE("a soname leads to the copy that was loaded first, whatever the addresses") {
  const Snapshot snapshot =
      process_of({{kProgram}, user(), runtime(kWheel), runtime(kToolkit), user("/v/libv.so")})
          .build();
  const Provenance wheel = of(snapshot, kWheel);
  CHECK(wheel.arrival == Arrival::needed);
  CHECK(wheel.arrival_note.empty());
  CHECK(wheel.load_order == 2U);
  // In the order of the objects: by address.
  CHECK(needers(snapshot, wheel) ==
        std::vector<std::string>{"/v/libv.so " + kSoname, kUser + " " + kSoname});
  const Provenance toolkit = of(snapshot, kToolkit);
  CHECK(toolkit.arrival == Arrival::opened);
  CHECK(toolkit.needed_by.empty());
}

TEST_CASE("a DT_NEEDED entry leads to the object of that file name where no soname says so") {
  Library plain = runtime("/w/libcudart.so");
  const Snapshot snapshot = process_of({{kProgram}, {kUser, {"libcudart.so"}}, plain}).build();
  CHECK(needers(snapshot, of(snapshot, "/w/libcudart.so")) ==
        std::vector<std::string>{kUser + " libcudart.so"});
}

TEST_CASE("two files of one name and no soname: nobody can say which was needed") {
  const Snapshot snapshot = process_of({{kProgram},
                                        {kUser, {"libcudart.so"}},
                                        runtime("/w/libcudart.so"),
                                        runtime("/v/libcudart.so")})
                                .build();
  CHECK(of(snapshot, "/w/libcudart.so").needed_by.empty());
}

TEST_CASE("a runtime that precedes all who need it was brought by something else") {
  const Snapshot snapshot = process_of({{kProgram}, runtime(kWheel), user()}).build();
  const Provenance wheel = of(snapshot, kWheel);
  CHECK(wheel.arrival == Arrival::needed);
  CHECK_THAT(wheel.arrival_note, ContainsSubstring("loaded before all who need it"));
}

TEST_CASE("preloaded and needed counts as preloaded") {
  SnapshotBuilder builder = process_of({{kProgram}, runtime(kWheel), user()});
  builder.env("LD_PRELOAD", kWheel);
  const Snapshot snapshot = builder.build();
  const Provenance wheel = of(snapshot, kWheel);
  CHECK(wheel.arrival == Arrival::preload);
  CHECK(wheel.arrival_note == "LD_PRELOAD");
  CHECK(wheel.needed_by.size() == 1);
}

TEST_CASE("an object that could not be read may be the one that needs it") {
  SnapshotBuilder builder = process_of({{kProgram}, {"/o/odd.so"}, runtime(kWheel)});
  builder.unread("/o/odd.so", "refused");
  const Provenance wheel = of(builder.build(), kWheel);
  CHECK(wheel.arrival == Arrival::unknown);
  CHECK(wheel.arrival_note == "1 loaded object could not be read and may need it");
}

TEST_CASE("without a link map a soname that two copies share leads nowhere") {
  Snapshot one = process_of({{kProgram}, user(), runtime(kWheel)}).build();
  one.link_map = Fact<std::vector<LinkNamespace>>::unknown("refused");
  CHECK(of(one, kWheel).arrival == Arrival::needed);
  CHECK_FALSE(of(one, kWheel).load_order);
  Snapshot two = process_of({{kProgram}, user(), runtime(kWheel), runtime(kToolkit)}).build();
  two.link_map = Fact<std::vector<LinkNamespace>>::unknown("refused");
  CHECK(of(two, kWheel).needed_by.empty());
  CHECK(of(two, kWheel).arrival == Arrival::unknown);
  CHECK_THAT(of(two, kWheel).arrival_note, ContainsSubstring("refused"));
}

TEST_CASE("each loader namespace has its own needs") {
  SnapshotBuilder builder = process_of({{kProgram}, user(), runtime(kWheel), runtime(kToolkit)});
  Snapshot snapshot = builder.build();
  auto& namespaces = *snapshot.link_map.get();
  LinkEntry moved = namespaces.front().entries.back();
  namespaces.front().entries.pop_back();
  namespaces.push_back({1, {moved}, {}});
  const Provenance toolkit = of(snapshot, kToolkit);
  CHECK(toolkit.loader_namespace == 1);
  CHECK(toolkit.load_order == 0U);
  CHECK(toolkit.arrival == Arrival::opened);
  CHECK(of(snapshot, kWheel).needed_by.size() == 1);
}

TEST_CASE("the program and what the loader does not list") {
  Snapshot snapshot = process_of({{kProgram}, runtime(kWheel)}).build();
  CHECK(of(snapshot, kProgram).arrival == Arrival::program);
  snapshot.link_map.get()->front().entries.pop_back();
  CHECK(of(snapshot, kWheel).arrival == Arrival::unknown);
  CHECK_THAT(of(snapshot, kWheel).arrival_note, ContainsSubstring("the loader's list"));
}

TEST_CASE("a file on disk was brought by nobody") {
  const Snapshot snapshot = process_of({{kProgram}}).build();
  const auto found = find_provenance(snapshot, std::vector<Candidate>{Candidate{}});
  CHECK(found.front().arrival == Arrival::unknown);
  CHECK(found.front().arrival_note == "not mapped");
}

TEST_CASE("who uses a runtime is what bound slots say, each name once") {
  Snapshot snapshot = process_of({{kProgram}, user(), runtime(kWheel), runtime(kToolkit)}).build();
  bind(snapshot, kUser, {"cudaMalloc", kSoname}, kToolkit);
  bind(snapshot, kUser, {"cudaMalloc", kSoname}, kToolkit);
  bind(snapshot, kUser, {"cudaFree", kSoname}, kToolkit);
  bind(snapshot, kUser, {"cudaMemset", kSoname}, "");
  const auto uses = of(snapshot, kToolkit).used_by;
  REQUIRE(uses.size() == 1);
  CHECK(uses.front().object == index_of(snapshot, kUser));
  CHECK(uses.front().names == std::vector<std::string>{"cudaFree", "cudaMalloc"});
  CHECK(of(snapshot, kWheel).used_by.empty());
}

TEST_CASE("an address lent by the program's own PLT leads on through the program's slot") {
  Snapshot snapshot = process_of({{kProgram, {kSoname}}, user(), runtime(kWheel)}).build();
  bind(snapshot, kUser, {"cudaMalloc", kSoname}, kProgram);
  const auto target = [&] {
    return slot_target(snapshot, snapshot.objects[index_of(snapshot, kUser)].slots.get()->front());
  };
  CHECK(target() == index_of(snapshot, kProgram));
  bind(snapshot, kProgram, {"cudaMalloc", kSoname}, "");
  CHECK_FALSE(target());
  bind(snapshot, kProgram, {"cudaMalloc", kSoname}, kWheel);
  CHECK(target() == index_of(snapshot, kWheel));
}

TEST_CASE("who uses what is found in time that grows with the number of slots") {
  constexpr std::uint32_t kObjects = 60;
  constexpr std::size_t kSlots = 4000;
  std::vector<Candidate> candidates;
  std::vector<Library> libraries = {{kProgram}};
  while (libraries.size() < kObjects) {
    libraries.push_back(runtime("/r" + std::to_string(libraries.size()) + "/libcudart.so.12"));
  }
  Snapshot snapshot = process_of(libraries).build();
  for (std::uint32_t i = 0; i < kObjects; ++i) {
    std::vector<Slot> slots;
    for (std::size_t k = 0; k < kSlots; ++k) {
      slots.push_back({"cudaName" + std::to_string(k), "", 1, true, (i + 1) % kObjects});
    }
    snapshot.objects[i].slots = Fact<std::vector<Slot>>::known(std::move(slots));
    candidates.emplace_back().object = i;
  }
  const auto begin = std::chrono::steady_clock::now();
  const auto found = find_provenance(snapshot, candidates);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
  // Each leads to the next one, and that one's slots to the one after it.
  REQUIRE(found[9].used_by.size() == 1);
  CHECK(found[9].used_by.front().object == 7);
  CHECK(found[9].used_by.front().names.size() == kSlots);
}
