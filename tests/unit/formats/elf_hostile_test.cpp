// Lies in every field that the reader goes by. Nothing here may crash, hang or read out of bounds;
// run under the address sanitizer.
#include <string>

#include "cudart_doctor/formats/content_scan.hpp"
#include "cudart_doctor/formats/elf.hpp"
#include "support/catch.hpp"
#include "support/elf_builder.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

namespace {

BuiltElf sound() {
  ElfSpec spec;
  spec.soname = "libcudart.so.12";
  spec.needed = {"libc.so.6"};
  spec.rpath = "/opt";
  spec.interpreter = "/lib64/ld.so";
  spec.version_base = "libcudart.so.12";
  spec.version_definitions = {"N1", "N2"};
  spec.version_needs = {{"libc.so.6", {"G1", "G2"}}, {"libm.so.6", {"G3"}}};
  spec.symbols = {{.name = "malloc", .defined = false, .version = "G1"},
                  {.name = "cudaMalloc", .version = "N1"},
                  {.name = "cuInit", .version = "N2"},
                  {.name = "cudaFree", .version = "N1"}};
  spec.hash = ElfHash::gnu;
  spec.notes = {{"GNU", 3, "0123456789abcdef0123"}};
  spec.sections = {{".nv_fatbin", 1, "x"}};
  spec.code = std::string(32, '\xc3');
  return build_elf(spec);
}

/// Everything that the library does with an object; the value is only for the caller's checks.
Result<ElfFacts> examine(const std::vector<std::byte>& bytes, ElfImage kind) {
  MemorySource source(bytes);
  auto reader = ElfReader::open(source, kind, kind == ElfImage::memory ? 0x7f0000000000 : 0);
  if (!reader) return tl::unexpected(reader.error());
  ElfFacts facts = reader->read_facts();
  reader->walk_symbols(facts);
  if (kind == ElfImage::file) {
    CHECK(scan_contents(source, reader->program_headers(), facts.machine).has_value());
  }
  return facts;
}

std::string error_of(const std::vector<std::byte>& bytes) {
  MemorySource source(bytes);
  const auto reader = ElfReader::open(source, ElfImage::file);
  return reader ? std::string("none") : reader.error().message;
}

bool tells(const ElfFacts& facts, const std::string& part) {
  for (const auto& line : facts.damage) {
    if (line.find(part) != std::string::npos) return true;
  }
  return false;
}

constexpr std::uint32_t kBad32[] = {0, 1, 7, 0x1000, 0x7fffffff, 0xfffffff0, 0xffffffff};
constexpr std::uint64_t kBad64[] = {0,          1,         0x800,           1U << 20U, 0x7fffffff,
                                    UINT32_MAX, INT64_MAX, UINT64_MAX - 15, UINT64_MAX};

}  // namespace

TEST_CASE("what is no 64-bit little-endian ELF is refused with the reason") {
  BuiltElf elf = sound();
  CHECK(error_of({}) == "empty file");
  CHECK(error_of(std::vector<std::byte>(100, std::byte{'x'})) == "not an ELF file");
  CHECK(error_of({std::byte{0x7f}}) == "not an ELF file");
  CHECK(error_of({elf.bytes.begin(), elf.bytes.begin() + 40}) == "ends inside its ELF header");
  CHECK(error_of({elf.bytes.begin(), elf.bytes.begin() + 100}) ==
        "ends inside its program headers");
  BuiltElf narrow = elf;
  narrow.set_u8(4, 1);
  CHECK(error_of(narrow.bytes) == "32-bit ELF");
  BuiltElf big = elf;
  big.set_u8(5, 2);
  CHECK(error_of(big.bytes) == "big-endian ELF");
  BuiltElf far = elf;
  far.set_u64(32, UINT64_MAX - 8);
  CHECK(error_of(far.bytes) == "ends inside its program headers");
  BuiltElf odd = elf;
  odd.set_u16(54, 32);
  CHECK(error_of(odd.bytes) == "program headers are of an odd size");
  BuiltElf many = elf;
  many.set_u16(56, 257);
  CHECK(error_of(many.bytes) == "claims more than 256 program headers");
  BuiltElf extended = elf;
  extended.set_u16(56, 0xffff);
  extended.set_u64(40, UINT64_MAX);
  CHECK(error_of(extended.bytes) == "ends before its first section header");
}

TEST_CASE("an object cut at any place is read as far as it goes") {
  const BuiltElf elf = sound();
  for (std::size_t size = 0; size < elf.bytes.size(); size += 16) {
    const std::vector<std::byte> cut(elf.bytes.begin(),
                                     elf.bytes.begin() + static_cast<std::ptrdiff_t>(size));
    const auto facts = examine(cut, ElfImage::file);
    if (facts) CHECK((facts->file_size >= facts->required_size || !facts->damage.empty()));
    (void)examine(cut, ElfImage::memory);
  }
}

TEST_CASE("any 32-bit field may lie") {
  const BuiltElf elf = sound();
  for (std::uint64_t offset = 0; offset + 4 <= elf.bytes.size(); offset += 4) {
    // The padding between segments holds nothing to lie about.
    if (elf.u32(offset) == 0 && offset % 64 != 0) continue;
    for (const std::uint32_t value : kBad32) {
      BuiltElf liar = elf;
      liar.set_u32(offset, value);
      (void)examine(liar.bytes, ElfImage::file);
    }
  }
  SUCCEED();
}

TEST_CASE("any address, size or offset may lie") {
  const BuiltElf elf = sound();
  for (const char* part : {"phdr", "dynamic", "shdr"}) {
    const std::uint64_t begin = elf.at.at(part);
    for (std::uint64_t offset = begin; offset < begin + 8 * 56; offset += 8) {
      if (offset + 8 > elf.bytes.size()) break;
      for (const std::uint64_t value : kBad64) {
        BuiltElf liar = elf;
        liar.set_u64(offset, value);
        (void)examine(liar.bytes, ElfImage::file);
        (void)examine(load_elf(elf, 0x7f0000000000, DynamicPointers::absolute), ElfImage::memory);
      }
    }
  }
  SUCCEED();
}

TEST_CASE("a table outside the object is told as damage, the rest stays readable") {
  struct Case {
    std::uint64_t tag;
    std::uint64_t value;
    const char* damage;
  };
  const Case cases[] = {
      {5, UINT64_MAX, "lies outside the string table"},
      {6, UINT64_MAX, "symbol table lies past the end"},
      {0x6ffffef5, UINT64_MAX, "symbol hash table lies past the end"},
      {0x6ffffff0, UINT64_MAX, "symbol version table lies past the end"},
      {0x6ffffffc, UINT64_MAX - 4, "version definitions lie past the end"},
      {0x6ffffffe, UINT64_MAX, "version needs lie past the end"},
      {14, UINT64_MAX, "lies outside the string table"},
      {1, 1U << 30U, "lies outside the string table"},
  };
  for (const Case& item : cases) {
    BuiltElf liar = sound();
    liar.set_u64(liar.dynamic_value(item.tag), item.value);
    const auto facts = examine(liar.bytes, ElfImage::file);
    REQUIRE(facts);
    INFO(item.tag);
    CHECK(tells(*facts, item.damage));
    CHECK(facts->build_id == "3031323334353637383961626364656630313233");
  }
}

TEST_CASE("hash tables cannot lead the reader in circles or beyond its caps") {
  BuiltElf buckets = sound();
  buckets.set_u32(buckets.at.at("gnu_hash"), UINT32_MAX);
  auto facts = examine(buckets.bytes, ElfImage::file);
  REQUIRE(facts);
  CHECK(tells(*facts, "claims more than 1048576 buckets"));

  BuiltElf bloom = sound();
  bloom.set_u32(bloom.at.at("gnu_hash") + 8, UINT32_MAX);
  facts = examine(bloom.bytes, ElfImage::file);
  REQUIRE(facts);
  CHECK(tells(*facts, "symbol hash table lies past the end"));

  BuiltElf first = sound();  // The bucket points below the first hashed symbol.
  first.set_u32(first.at.at("gnu_hash") + 4, 1000);
  facts = examine(first.bytes, ElfImage::file);
  REQUIRE(facts);
  CHECK(tells(*facts, "symbol hash table contradicts itself"));

  ElfSpec spec;
  spec.hash = ElfHash::sysv;
  spec.symbols = {{.name = "a"}, {.name = "b"}, {.name = "c"}};
  BuiltElf circle = build_elf(spec);
  const std::uint64_t chains = circle.at.at("sysv_hash") + 8 + 4;
  for (std::uint64_t i = 0; i < 4; ++i) circle.set_u32(chains + i * 4, 1);
  facts = examine(circle.bytes, ElfImage::file);
  REQUIRE(facts);
  CHECK_FALSE(facts->exports_api);

  BuiltElf many = build_elf(spec);
  many.set_u32(many.at.at("sysv_hash") + 4, UINT32_MAX);
  facts = examine(many.bytes, ElfImage::file);
  REQUIRE(facts);
  CHECK(tells(*facts, "more than 1048576 dynamic symbols"));
  CHECK(tells(*facts, "symbol table lies past the end"));
}

TEST_CASE("a small file cannot name gigabytes of exports") {
  ElfSpec spec;
  spec.hash = ElfHash::sysv;
  spec.symbols = {{.name = "cuda" + std::string(200, 'X')}};
  BuiltElf liar = build_elf(spec);
  constexpr std::uint32_t kClaimed = 100'000;
  // The symbol table moves to the end of the file and repeats its one symbol.
  const std::uint64_t symbol = liar.at.at("dynsym") + 24;
  const std::vector<std::byte> one(liar.bytes.begin() + static_cast<std::ptrdiff_t>(symbol),
                                   liar.bytes.begin() + static_cast<std::ptrdiff_t>(symbol + 24));
  const std::uint64_t table = liar.bytes.size();
  for (std::uint32_t i = 0; i < kClaimed; ++i) {
    liar.bytes.insert(liar.bytes.end(), one.begin(), one.end());
  }
  // The writable segment, right before PT_DYNAMIC, grows over it; its addresses lie a page higher.
  const std::uint64_t writable = liar.segment(2) - 56;
  liar.set_u64(writable + 32, liar.bytes.size() - liar.u64(writable + 8));
  liar.set_u64(liar.dynamic_value(6), table + 0x1000);
  liar.set_u32(liar.at.at("sysv_hash") + 4, kClaimed);
  const auto facts = examine(liar.bytes, ElfImage::file);
  REQUIRE(facts);
  CHECK(tells(*facts, "more than 65536 names"));
  CHECK(facts->exports.size() == 1);
}

TEST_CASE("version lists cannot lead the reader in circles") {
  BuiltElf needs = sound();
  const std::uint64_t need = needs.at.at("verneed");
  needs.set_u64(needs.dynamic_value(0x6fffffff), UINT64_MAX);
  needs.set_u16(need + 2, 0xffff);
  needs.set_u32(need + 12, 1);       // The next need begins one byte later.
  needs.set_u32(need + 16 + 12, 1);  // So does the next version of the first.
  CHECK(examine(needs.bytes, ElfImage::file).has_value());

  BuiltElf definitions = sound();
  const std::uint64_t definition = definitions.at.at("verdef");
  definitions.set_u64(definitions.dynamic_value(0x6ffffffd), UINT64_MAX);
  definitions.set_u32(definition + 16, 0xfffffff0);
  const auto facts = examine(definitions.bytes, ElfImage::file);
  REQUIRE(facts);
  CHECK(tells(*facts, "version definitions lie past the end"));
  CHECK(facts->version_base == "libcudart.so.12");
}

TEST_CASE("section headers that do not hold together are told and left alone") {
  struct Case {
    std::uint64_t offset;
    std::uint64_t value;
    unsigned width;
    const char* damage;
  };
  const Case cases[] = {
      {40, UINT64_MAX, 8, "section headers lie past the end"},
      {58, 40, 2, "section headers are of an odd size"},
      {60, 0xff00, 2, "section headers lie past the end"},
      {62, 99, 2, "section names are not among the sections"},
  };
  for (const Case& item : cases) {
    BuiltElf liar = sound();
    if (item.width == 8) liar.set_u64(item.offset, item.value);
    if (item.width == 2) liar.set_u16(item.offset, static_cast<std::uint16_t>(item.value));
    const auto facts = examine(liar.bytes, ElfImage::file);
    REQUIRE(facts);
    CHECK(tells(*facts, item.damage));
    CHECK_FALSE(facts->device_code_sections);
    CHECK(facts->soname == "libcudart.so.12");
  }
}

TEST_CASE("damage that repeats is told once") {
  BuiltElf liar = sound();
  liar.set_u64(liar.dynamic_value(10), 0);  // DT_STRSZ: no name can be read.
  const auto facts = examine(liar.bytes, ElfImage::file);
  REQUIRE(facts);
  std::size_t count = 0;
  for (const auto& line : facts->damage) {
    if (line.find("a name of the dynamic section") != std::string::npos) ++count;
  }
  CHECK(count == 1);
}
