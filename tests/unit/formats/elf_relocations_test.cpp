// Slots: which relocations lead to an address of a runtime name, and tables that lie.
#include <string>
#include <vector>

#include "cudart_doctor/formats/elf.hpp"
#include "support/catch.hpp"
#include "support/elf_builder.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

namespace {

constexpr std::uint32_t kJumpSlot = 7;
constexpr std::uint32_t kGlobalData = 6;
constexpr std::uint32_t kAbsolute = 1;
constexpr std::uint32_t kRelative = 8;
constexpr std::uint64_t kBase = 0x7f0000000000;

/// "3e0 cudaMalloc@libcudart.so.12", as a list of texts.
std::vector<std::string> shown(const Result<std::vector<SlotPlace>>& slots) {
  if (!slots) return {slots.error().message};
  std::vector<std::string> out;
  for (const SlotPlace& slot : *slots) {
    std::string text = std::to_string(slot.vaddr) + " " + slot.name;
    if (!slot.version.empty()) text += "@" + slot.version;
    out.push_back(text);
  }
  return out;
}

std::vector<std::string> slots_of(std::span<const std::byte> bytes, ElfImage image) {
  MemorySource source(bytes);
  auto reader = ElfReader::open(source, image, image == ElfImage::file ? 0 : kBase);
  REQUIRE(reader);
  ElfFacts facts = reader->read_facts();
  reader->walk_symbols(facts);
  return shown(reader->read_slots());
}

std::vector<std::string> slots_of(const BuiltElf& elf) {
  return slots_of(elf.bytes, ElfImage::file);
}

/// Calls cudaMalloc and cudaFree, and nothing else of the runtime.
ElfSpec user() {
  ElfSpec spec;
  spec.version_needs = {{"libcudart.so.12", {"libcudart.so.12"}}};
  spec.symbols = {{.name = "cudaMalloc", .defined = false, .version = "libcudart.so.12"},
                  {.name = "cudaFree", .defined = false},
                  {.name = "printf", .defined = false},
                  {.name = "helper"}};
  spec.jump_relocations = {{0x3000, kJumpSlot, "cudaMalloc"}, {0x3008, kJumpSlot, "printf"}};
  return spec;
}

}  // namespace

TEST_CASE("a slot is listed with its name and the version of the reference") {
  ElfSpec spec = user();
  spec.relocations = {{0x2ff8, kGlobalData, "cudaFree"}};
  const std::vector<std::string> wanted = {"12280 cudaFree", "12288 cudaMalloc@libcudart.so.12"};
  CHECK(slots_of(build_elf(spec)) == wanted);
  const BuiltElf elf = build_elf(spec);
  for (const auto pointers : {DynamicPointers::absolute, DynamicPointers::relative}) {
    CHECK(slots_of(load_elf(elf, kBase, pointers), ElfImage::memory) == wanted);
  }
}

TEST_CASE("AArch64 numbers its relocations otherwise") {
  ElfSpec spec = user();
  spec.machine = 183;
  spec.jump_relocations = {{0x3000, 1026, "cudaMalloc"}, {0x3008, kJumpSlot, "cudaFree"}};
  spec.relocations = {{0x2ff8, 1025, "cudaFree"}, {0x2ff0, 257, "cudaMalloc"}};
  CHECK(slots_of(build_elf(spec)) == std::vector<std::string>{"12272 cudaMalloc@libcudart.so.12",
                                                              "12280 cudaFree",
                                                              "12288 cudaMalloc@libcudart.so.12"});
  spec.machine = 243;
  CHECK(slots_of(build_elf(spec)) == std::vector<std::string>{"relocations of another machine"});
}

TEST_CASE("only undefined names of the runtime count, weak ones too") {
  ElfSpec spec = user();
  spec.symbols = {{.name = "cudaMalloc"},
                  {.name = "cuInit", .defined = false},
                  {.name = "cudaFree", .defined = false, .binding = 2},
                  {.name = "free", .defined = false}};
  spec.jump_relocations = {{0x3000, kJumpSlot, "cudaMalloc"},
                           {0x3008, kJumpSlot, "cuInit"},
                           {0x3010, kJumpSlot, "cudaFree"},
                           {0x3018, kJumpSlot, "free"}};
  CHECK(slots_of(build_elf(spec)) == std::vector<std::string>{"12304 cudaFree"});
}

TEST_CASE("an absolute address counts unless something is added to it") {
  ElfSpec spec = user();
  spec.relocations = {{0x2000, kAbsolute, "cudaFree"}, {0x2008, kAbsolute, "cudaFree", 8}};
  CHECK(slots_of(build_elf(spec)) ==
        std::vector<std::string>{"8192 cudaFree", "12288 cudaMalloc@libcudart.so.12"});
}

TEST_CASE("an address that both tables list counts once") {
  ElfSpec spec = user();
  spec.relocations = spec.jump_relocations;
  CHECK(slots_of(build_elf(spec)) == std::vector<std::string>{"12288 cudaMalloc@libcudart.so.12"});
}

TEST_CASE("the relative relocations in front are skipped, more of them than there are too") {
  ElfSpec spec = user();
  spec.relocations = {{0x1000, kRelative}, {0x1008, kRelative}, {0x2ff8, kGlobalData, "cudaFree"}};
  spec.relative_count = 2;
  CHECK(slots_of(build_elf(spec)).front() == "12280 cudaFree");
  spec.relative_count = UINT64_MAX;
  CHECK(slots_of(build_elf(spec)) == std::vector<std::string>{"12288 cudaMalloc@libcudart.so.12"});
}

TEST_CASE("before the symbols are walked nothing is read") {
  const BuiltElf elf = build_elf(user());
  MemorySource source(elf.bytes);
  auto reader = ElfReader::open(source, ElfImage::file);
  REQUIRE(reader);
  CHECK(shown(reader->read_slots()).empty());
}

TEST_CASE("tables that lie are refused by name") {
  constexpr std::uint64_t kAddress = 23;
  constexpr std::uint64_t kSize = 2;
  const struct {
    std::uint64_t tag;
    std::uint64_t value;
    const char* message;
  } lies[] = {
      {kSize, UINT64_MAX, "claims more than 4194304 relocations"},
      {kSize, 24 * 4'000'000, "a table of relocations lies past the end"},
      {kAddress, UINT64_MAX - 8, "a table of relocations lies past the end"},
      {kAddress, 0x7fffffffffff, "a table of relocations lies past the end"},
  };
  for (const auto& lie : lies) {
    BuiltElf elf = build_elf(user());
    elf.set_u64(elf.dynamic_value(lie.tag), lie.value);
    CHECK(slots_of(elf) == std::vector<std::string>{lie.message});
  }
}

TEST_CASE("a file that ends inside its table is refused") {
  BuiltElf elf = build_elf(user());
  // The last segment, right before PT_DYNAMIC, claims more than the file holds, and the table lies
  // there.
  const std::uint64_t load = elf.segment(2) - 56;
  const std::uint64_t shift = elf.u64(load + 16) - elf.u64(load + 8);
  elf.set_u64(load + 32, 1U << 20U);
  elf.set_u64(elf.dynamic_value(23), elf.bytes.size() - 8 + shift);
  CHECK(slots_of(elf) == std::vector<std::string>{"a table of relocations lies past the end"});
}

TEST_CASE("more slots than any library has are refused") {
  ElfSpec spec = user();
  for (std::uint64_t i = 0; i < 5000; ++i) {
    spec.relocations.push_back({0x10000 + 8 * i, kGlobalData, "cudaMalloc"});
  }
  CHECK(slots_of(build_elf(spec)) ==
        std::vector<std::string>{"has more than 4096 slots for names of the runtime"});
}

TEST_CASE("jump slots without addends are of another machine and left alone") {
  BuiltElf elf = build_elf(user());
  elf.set_u64(elf.dynamic_value(20), 17);  // DT_REL
  CHECK(slots_of(elf).empty());
}
