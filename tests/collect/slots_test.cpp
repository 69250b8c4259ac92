// Slots read from a made-up memory: bound, not bound, unresolved, and what cannot be read.
#include "cudart_doctor/collect/slots.hpp"

#include <cstring>
#include <map>
#include <string>

#include "cudart_doctor/formats/proc_text.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;

namespace {

constexpr std::uint64_t kUser = 0x10000;
constexpr std::uint64_t kRuntime = 0x20000;
constexpr std::uint64_t kHeap = 0x30000;

/// Words at addresses; everything else is not mapped. Or a refusal.
class Memory final : public ByteSource {
 public:
  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> out) override {
    if (refused) return fail(ErrorKind::permission, "refused: needs CAP_SYS_PTRACE");
    const std::uint64_t end = kUser + 0x2000;
    if (offset < kUser || offset >= end) return std::size_t{0};
    const auto count = std::min<std::size_t>(out.size(), end - offset);
    std::memset(out.data(), 0, count);
    for (const auto& [address, value] : words) {
      if (address < offset || address - offset + 8 > count) continue;
      std::memcpy(out.data() + (address - offset), &value, 8);
    }
    return count;
  }
  [[nodiscard]] std::optional<std::uint64_t> size() const override { return std::nullopt; }

  std::map<std::uint64_t, std::uint64_t> words;
  bool refused = false;
};

/// Objects 0 (a user, biased by kUser) and 1 (a runtime).
Snapshot process() {
  Snapshot snapshot;
  auto maps = parse_maps(
      "00010000-00012000 r-xp 00000000 fe:00 1                                  /u/user.so\n"
      "00020000-00021000 r-xp 00000000 fe:00 2                                  /r/libcudart.so\n"
      "00030000-00031000 rw-p 00000000 00:00 0 \n");
  REQUIRE(maps);
  snapshot.maps = std::move(*maps);
  snapshot.objects.resize(2);
  snapshot.objects[0].rows = {0};
  snapshot.objects[1].rows = {1};
  snapshot.link_map = Fact<std::vector<LinkNamespace>>::known(
      {{0, {{kUser, "/u/user.so", 0}, {kRuntime, "/r/libcudart.so", 1}}, {}}});
  return snapshot;
}

SlotPlaces one_place(std::uint64_t vaddr) {
  return {{0, Fact<std::vector<SlotPlace>>::known({{vaddr, "cudaMalloc", "libcudart.so.12"}})}};
}

Slot read_one(std::uint64_t value) {
  Snapshot snapshot = process();
  Memory memory;
  memory.words = {{kUser + 0x1008, value}};
  read_slots(memory, one_place(0x1008), snapshot);
  REQUIRE(snapshot.objects[0].slots.is_known());
  REQUIRE(snapshot.objects[0].slots.get()->size() == 1);
  CHECK_FALSE(snapshot.objects[1].slots.is_asked());
  return snapshot.objects[0].slots.get()->front();
}

std::string reason_of(const Snapshot& snapshot) { return snapshot.objects[0].slots.reason(); }

}  // namespace

TEST_CASE("a slot is bound where it points into another object") {
  const Slot slot = read_one(kRuntime + 0x10);
  CHECK(slot.bound);
  CHECK(slot.object == 1U);
  CHECK(slot.address == kRuntime + 0x10);
  CHECK(slot.name == "cudaMalloc");
  CHECK(slot.version == "libcudart.so.12");
}

TEST_CASE("a slot that points into its own object is not bound yet") {
  const Slot slot = read_one(kUser + 0x20);
  CHECK_FALSE(slot.bound);
  CHECK_FALSE(slot.object);
}

TEST_CASE("an empty slot is not bound, one into memory of no file is bound to no object") {
  CHECK_FALSE(read_one(0).bound);
  const Slot slot = read_one(kHeap);
  CHECK(slot.bound);
  CHECK_FALSE(slot.object);
}

TEST_CASE("memory that is refused or not there makes the slots unknown, with the reason") {
  Snapshot snapshot = process();
  Memory memory;
  memory.refused = true;
  read_slots(memory, one_place(0x1008), snapshot);
  CHECK(reason_of(snapshot) == "refused: needs CAP_SYS_PTRACE");
  memory.refused = false;
  read_slots(memory, one_place(0x9000), snapshot);
  CHECK(snapshot.objects[0].slots.is_unknown());
}

TEST_CASE("without the loader's list there is no load address") {
  Snapshot snapshot = process();
  Memory memory;
  snapshot.link_map.get()->front().entries.clear();
  read_slots(memory, one_place(0x1008), snapshot);
  CHECK(reason_of(snapshot) == "the loader's list does not have the object");
  snapshot.link_map = Fact<std::vector<LinkNamespace>>::unknown("refused");
  read_slots(memory, one_place(0x1008), snapshot);
  CHECK(reason_of(snapshot) == "the loader's list could not be read: refused");
}

TEST_CASE("an object that two namespaces load has the slots of both") {
  Snapshot snapshot = process();
  snapshot.link_map.get()->push_back({1, {{kUser + 0x800, "/u/user.so", 0}}, {}});
  Memory memory;
  memory.words = {{kUser + 0x1008, kRuntime}};
  read_slots(memory, one_place(0x1008), snapshot);
  REQUIRE(snapshot.objects[0].slots.is_known());
  CHECK(snapshot.objects[0].slots.get()->size() == 2);
}

TEST_CASE("relocations that could not be read leave their reason") {
  Snapshot snapshot = process();
  Memory memory;
  read_slots(memory, {{0, Fact<std::vector<SlotPlace>>::unknown("a table is cut")}}, snapshot);
  CHECK(reason_of(snapshot) == "a table is cut");
}

TEST_CASE("a load that the list names often is one, and too many loads are not read") {
  Snapshot snapshot = process();
  auto& entries = snapshot.link_map.get()->front().entries;
  entries.insert(entries.end(), 10000, entries.front());
  Memory memory;
  read_slots(memory, one_place(0x1008), snapshot);
  REQUIRE(snapshot.objects[0].slots.is_known());
  CHECK(snapshot.objects[0].slots.get()->size() == 1);
  for (std::size_t i = 0; i < kMaxSlotsOfObject; ++i) {
    entries[i + 2].load_bias = kUser + i;
  }
  CHECK(entries.size() > kMaxSlotsOfObject + 2);
  read_slots(memory, one_place(0x8), snapshot);
  CHECK(snapshot.objects[0].slots.is_known());
  entries.back().load_bias = kUser - 1;
  read_slots(memory, one_place(0x8), snapshot);
  CHECK(reason_of(snapshot) == "1 slot in each of 4097 loads: more than are read");
}

TEST_CASE("slots beyond the limit of all objects are unknown, and a note says so") {
  Snapshot snapshot = process();
  constexpr std::uint32_t kObjects = kMaxSlots / kMaxSlotsOfObject + 2;
  snapshot.objects.resize(kObjects);
  SlotPlaces places;
  for (std::uint32_t i = 0; i < kObjects; ++i) {
    if (i > 1) snapshot.link_map.get()->front().entries.push_back({kUser, "/u/x.so", i});
    places[i] = Fact<std::vector<SlotPlace>>::known(
        std::vector<SlotPlace>(kMaxSlotsOfObject, {0x8, "cudaMalloc", ""}));
  }
  snapshot.link_map.get()->front().entries[1].load_bias = kUser;
  Memory memory;
  read_slots(memory, places, snapshot);
  CHECK(snapshot.objects[kObjects - 3].slots.is_known());
  CHECK(snapshot.objects[kObjects - 2].slots.reason() == "more slots than are read");
  CHECK(snapshot.objects[kObjects - 1].slots.is_unknown());
  CHECK(snapshot.capture.notes ==
        std::vector<std::string>{"the slots of 2 objects were not read: there are more than "
                                 "65536"});
}
