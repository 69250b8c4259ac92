// What the cheap look reads from sound objects, as a file and as a loaded image.
#include <string>

#include "cudart_doctor/formats/elf.hpp"
#include "support/catch.hpp"
#include "support/elf_builder.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

namespace {

/// A libcudart in small: node on every function, BASE entry, absolute version symbol.
ElfSpec runtime_spec() {
  ElfSpec spec;
  spec.soname = "libcudart.so.12";
  spec.needed = {"libc.so.6", "libdl.so.2"};
  spec.runpath = "$ORIGIN:$ORIGIN/../x";
  spec.version_base = "libcudart.so.12";
  spec.version_definitions = {"libcudart_node"};
  spec.version_needs = {{"libc.so.6", {"GLIBC_2.2.5", "GLIBC_2.14"}}, {"libdl.so.2", {"DL_1"}}};
  spec.symbols = {
      {.name = "malloc", .defined = false, .version = "GLIBC_2.2.5"},
      {.name = "cudaMalloc", .version = "libcudart_node"},
      {.name = "cudaFree", .version = "libcudart_node"},
      {.name = "__cudaRegisterFatBinary", .version = "libcudart_node"},
      {.name = "cudaDeviceReset", .version = "libcudart_node"},
      {.name = "libcudart_node", .type = 1, .absolute = true},
  };
  spec.notes = {{"GNU", 3, std::string("\x7a\x11\xe4\x2a\x00\xff", 6)}};
  spec.symbolic = true;
  spec.code = std::string(64, '\x90');
  return spec;
}

ElfFacts facts_of(const BuiltElf& elf) {
  MemorySource source(elf.bytes);
  auto reader = ElfReader::open(source, ElfImage::file);
  REQUIRE(reader);
  return reader->read_facts();
}

/// A file whose first bytes were read beforehand; counts the reads that come nevertheless.
class HeadSource final : public ByteSource {
 public:
  HeadSource(std::span<const std::byte> bytes, std::size_t head)
      : file_(bytes), head_(bytes.first(head)) {}
  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> out) override {
    ++reads_;
    return file_.read_at(offset, out);
  }
  [[nodiscard]] std::optional<std::uint64_t> size() const override { return file_.size(); }
  [[nodiscard]] std::span<const std::byte> head() const override { return head_; }
  [[nodiscard]] int reads() const { return reads_; }

 private:
  MemorySource file_;
  std::span<const std::byte> head_;
  int reads_ = 0;
};

void check_runtime(const ElfFacts& facts) {
  CHECK(facts.machine == 62);
  CHECK(facts.type == 3);
  CHECK(facts.load_segments == 3);
  CHECK(facts.has_dynamic);
  CHECK(facts.soname == "libcudart.so.12");
  CHECK(facts.runpath == "$ORIGIN:$ORIGIN/../x");
  CHECK_FALSE(facts.rpath);
  CHECK(facts.needed == std::vector<std::string>{"libc.so.6", "libdl.so.2"});
  CHECK(facts.version_base == "libcudart.so.12");
  CHECK(facts.version_definitions == std::vector<std::string>{"libcudart_node"});
  REQUIRE(facts.version_needs.size() == 2);
  CHECK(facts.version_needs[0].file == "libc.so.6");
  CHECK(facts.version_needs[0].versions == std::vector<std::string>{"GLIBC_2.2.5", "GLIBC_2.14"});
  CHECK(facts.version_needs[1].versions == std::vector<std::string>{"DL_1"});
  CHECK(facts.has_symbol_versions);
  CHECK(facts.is_symbolic);
  CHECK(facts.build_id == "7a11e42a00ff");
  CHECK(facts.exports_api);
  CHECK(facts.damage.empty());
}

}  // namespace

TEST_CASE("facts are the same however much of the file lies in the source's head") {
  const BuiltElf elf = build_elf(runtime_spec());
  const std::size_t total = elf.bytes.size();
  for (const std::size_t head : {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{64},
                                 std::size_t{500}, total / 2, total - 1, total}) {
    HeadSource source(elf.bytes, head);
    auto reader = ElfReader::open(source, ElfImage::file);
    REQUIRE(reader);
    const ElfFacts facts = reader->read_facts();
    check_runtime(facts);
    CHECK(facts.file_size == total);
    if (head == 0) CHECK(source.reads() > 0);
    if (head == total) CHECK(source.reads() == 0);
  }
}

TEST_CASE("a file tells all that the loader would go by") {
  const BuiltElf elf = build_elf(runtime_spec());
  const ElfFacts facts = facts_of(elf);
  check_runtime(facts);
  CHECK_FALSE(facts.from_memory);
  CHECK(facts.file_size == elf.bytes.size());
  CHECK(facts.required_size < elf.bytes.size());
  CHECK(facts.device_code_sections == false);
}

TEST_CASE("a loaded image tells the same, its pointers absolute or relative") {
  constexpr std::uint64_t kBase = 0x7f1a30000000;
  const BuiltElf elf = build_elf(runtime_spec());
  for (const auto pointers : {DynamicPointers::absolute, DynamicPointers::relative}) {
    for (const auto hash : {ElfHash::gnu, ElfHash::sysv}) {
      ElfSpec spec = runtime_spec();
      spec.hash = hash;
      const auto image = load_elf(build_elf(spec), kBase, pointers);
      MemorySource source(image);
      auto reader = ElfReader::open(source, ElfImage::memory, kBase);
      REQUIRE(reader);
      ElfFacts facts = reader->read_facts();
      check_runtime(facts);
      CHECK(facts.from_memory);
      CHECK(facts.file_size == 0);
      CHECK_FALSE(facts.device_code_sections);
      reader->walk_symbols(facts);
      CHECK(facts.exports == std::vector<std::string>{"__cudaRegisterFatBinary", "cudaDeviceReset",
                                                      "cudaFree", "cudaMalloc"});
      CHECK(facts.damage.empty());
    }
  }
}

TEST_CASE("any telling name is found by either hash table") {
  for (const auto hash : {ElfHash::gnu, ElfHash::sysv, ElfHash::both}) {
    for (const char* name : {"cudaMalloc", "cuInit", "cuGetErrorString", "nvrtcVersion",
                             "nvmlInit_v2", "hipMalloc", "cudaRuntimeGetVersion"}) {
      ElfSpec spec;
      spec.hash = hash;
      for (int i = 0; i < 200; ++i) spec.symbols.push_back({.name = "f" + std::to_string(i)});
      CHECK_FALSE(facts_of(build_elf(spec)).exports_api);
      spec.symbols.push_back({.name = name});
      CHECK(facts_of(build_elf(spec)).exports_api);
    }
  }
}

TEST_CASE("a name that is only used is no export") {
  for (const auto hash : {ElfHash::gnu, ElfHash::sysv}) {
    ElfSpec spec;
    spec.hash = hash;
    spec.symbols = {{.name = "cudaMalloc", .defined = false}, {.name = "other"}};
    CHECK_FALSE(facts_of(build_elf(spec)).exports_api);
  }
}

TEST_CASE("fat-binary sections are seen by name") {
  for (const char* name : {".nv_fatbin", ".nvFatBinSegment", "__nv_relfatbin", ".nv_fatbin_x"}) {
    ElfSpec spec;
    spec.sections = {{".text", 1, "x"}, {name, 1, "y"}};
    CHECK(facts_of(build_elf(spec)).device_code_sections == true);
  }
  ElfSpec plain;
  plain.sections = {{".text", 1, "x"}, {".nvidia", 1, "y"}};
  CHECK(facts_of(build_elf(plain)).device_code_sections == false);
  plain.section_headers = false;
  const ElfFacts stripped = facts_of(build_elf(plain));
  CHECK_FALSE(stripped.device_code_sections);
  CHECK(stripped.damage.empty());
}

TEST_CASE("notes are aligned to 4, or to 8 where their segment says so") {
  for (const std::uint64_t alignment : {4U, 8U}) {
    ElfSpec spec;
    spec.note_alignment = alignment;
    spec.notes = {{"GNU", 5, std::string(13, 'p')}, {"GNU", 3, "\x01\x02\x03"}};
    CHECK(facts_of(build_elf(spec)).build_id == "010203");
  }
}

TEST_CASE("a forward-compatibility driver's note is found in a segment and in a section") {
  const std::string json = R"({"Format": 1, "CUDA Version": "13.1", "Driver": [535, 550]})";
  ElfSpec spec;
  spec.notes = {{"NVIDIA Corporation", 0x1000, json + '\0'}};
  CHECK(facts_of(build_elf(spec)).compat_note == json);
  spec.notes = {{"GNU", 1, json}};
  CHECK_FALSE(facts_of(build_elf(spec)).compat_note);
  spec.notes.clear();
  std::string section("\x13\0\0\0", 4);
  section += static_cast<char>(json.size()) + std::string(7, '\0');
  section += "NVIDIA Corporation" + std::string(2, '\0') + json;
  spec.sections = {{".note.cuda.fwd_compatibility", 7, section, 8}};
  CHECK(facts_of(build_elf(spec)).compat_note == json);
}

TEST_CASE("a build-id that patchelf moved is found by its section") {
  ElfSpec spec;
  spec.notes = {{"GNU", 3, "\x0a\x0b\x0c\x0d"}};
  spec.sections = {
      {".note.gnu.build-id", 7, std::string("\4\0\0\0\4\0\0\0\3\0\0\0GNU\0\x0a\x0b\x0c\x0d", 20)}};
  BuiltElf elf = build_elf(spec);
  for (std::uint64_t i = 0; i < 20; ++i) elf.set_u8(elf.at.at("notes") + i, 'X');
  const ElfFacts facts = facts_of(elf);
  CHECK(facts.build_id == "0a0b0c0d");
  CHECK(facts.damage.empty());
}

TEST_CASE("an executable names its interpreter") {
  ElfSpec spec;
  spec.interpreter = "/lib64/ld-linux-x86-64.so.2";
  CHECK(facts_of(build_elf(spec)).interpreter == "/lib64/ld-linux-x86-64.so.2");
}

TEST_CASE("a cut file is described, not refused") {
  ElfSpec spec = runtime_spec();
  spec.section_headers = false;
  BuiltElf elf = build_elf(spec);
  const std::uint64_t whole = facts_of(elf).required_size;
  elf.bytes.resize(whole - 8);
  const ElfFacts facts = facts_of(elf);
  CHECK(facts.required_size == whole);
  CHECK(facts.file_size == whole - 8);
  REQUIRE(facts.damage.size() == 2);
  CHECK(facts.damage[0] == "dynamic section lies past the end");
  CHECK_THAT(facts.damage[1], ContainsSubstring("its segments need"));
}
