// The loader's list read from a made-up process image: what is true, broken, circular.
#include "cudart_doctor/collect/link_map.hpp"

#include <elf.h>

#include <array>
#include <cstring>

#include "cudart_doctor/model/link_map_reasons.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;

namespace {

/// Memory of 64 KiB at kBase with a program's headers, dynamic section and r_debug in it.
class Image final : public ByteSource {
 public:
  static constexpr std::uint64_t kBase = 0x400000;
  static constexpr std::uint64_t kDynamic = 0x1000;
  static constexpr std::uint64_t kDebug = 0x2000;
  static constexpr std::uint64_t kMaps = 0x3000;

  Image() {
    Elf64_Phdr self = {};
    self.p_type = PT_PHDR;
    self.p_vaddr = sizeof(Elf64_Ehdr);
    Elf64_Phdr dynamic = {};
    dynamic.p_type = PT_DYNAMIC;
    dynamic.p_vaddr = kDynamic;
    put(sizeof(Elf64_Ehdr), self);
    put(sizeof(Elf64_Ehdr) + sizeof self, dynamic);
    Elf64_Dyn debug = {};
    debug.d_tag = DT_DEBUG;
    debug.d_un.d_ptr = kBase + kDebug;
    put(kDynamic, debug);
    set_debug(kDebug, 1, kBase + kMaps);
  }
  template <typename T>
  void put(std::uint64_t at, const T& value) {
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  void set_debug(std::uint64_t at, std::int32_t version, std::uint64_t map) {
    put(at, version);
    put(at + 8, map);
  }
  void set_entry(std::uint64_t at, std::uint64_t name, std::uint64_t next) {
    put(at, std::array<std::uint64_t, 5>{kBase, name, kBase + kDynamic, next, 0});
  }
  [[nodiscard]] static std::map<std::uint64_t, std::uint64_t> auxv() {
    return {{AT_PHDR, kBase + sizeof(Elf64_Ehdr)}, {AT_PHNUM, 2}, {AT_PHENT, sizeof(Elf64_Phdr)}};
  }
  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> out) override {
    if (offset < kBase || offset >= kBase + bytes_.size()) return std::size_t{0};
    const auto at = static_cast<std::size_t>(offset - kBase);
    const auto count = std::min(out.size(), bytes_.size() - at);
    std::memcpy(out.data(), bytes_.data() + at, count);
    return count;
  }
  [[nodiscard]] std::optional<std::uint64_t> size() const override { return std::nullopt; }

 private:
  std::array<char, 0x10000> bytes_{};
};

constexpr std::uint64_t kFirst = Image::kBase + Image::kMaps;

}  // namespace

TEST_CASE("entries come in load order with their names") {
  Image image;
  image.put(0x5000, std::array<char, 8>{"/a.so"});
  image.set_entry(Image::kMaps, 0, kFirst + 64);
  image.set_entry(Image::kMaps + 64, Image::kBase + 0x5000, 0);
  auto look = read_link_map(image, Image::auxv());
  REQUIRE(look);
  REQUIRE(look->namespaces.size() == 1);
  const auto& modules = look->namespaces[0].modules;
  REQUIRE(modules.size() == 2);
  CHECK(modules[0].name.empty());
  CHECK(modules[1].name == "/a.so");
  CHECK(look->namespaces[0].note.empty());
}

TEST_CASE("a circular list ends with a note") {
  Image image;
  image.set_entry(Image::kMaps, 0, kFirst + 64);
  image.set_entry(Image::kMaps + 64, 0, kFirst);
  auto look = read_link_map(image, Image::auxv());
  REQUIRE(look);
  CHECK(look->namespaces[0].modules.size() == 2);
  CHECK_THAT(look->namespaces[0].note,
             ContainsSubstring("list broken after 2 entries: it is circular"));
}

TEST_CASE("a list that leads into a hole keeps what came before") {
  Image image;
  image.set_entry(Image::kMaps, 0xdead0000, 0xdead0000);
  auto look = read_link_map(image, Image::auxv());
  REQUIRE(look);
  CHECK(look->namespaces[0].modules.size() == 1);
  CHECK_FALSE(look->namespaces[0].note.empty());
}

TEST_CASE("further namespaces are followed from version 2 on only") {
  const std::int32_t version = GENERATE(1, 2);
  Image image;
  image.set_entry(Image::kMaps, 0, 0);
  image.set_debug(Image::kDebug, version, kFirst);
  image.put(Image::kDebug + 40, Image::kBase + 0x6000);
  image.set_debug(0x6000, 2, kFirst);
  image.put(0x6000 + 40, Image::kBase + Image::kDebug);  // Back to the first: no third one.
  auto look = read_link_map(image, Image::auxv());
  REQUIRE(look);
  CHECK(look->namespaces.size() == static_cast<std::size_t>(version));
}

TEST_CASE("a static program has no link map") {
  Image image;
  Elf64_Phdr load = {};
  load.p_type = PT_NOTE;
  image.put(sizeof(Elf64_Ehdr) + sizeof load, load);
  auto look = read_link_map(image, Image::auxv());
  REQUIRE_FALSE(look);
  CHECK(look.error().kind == ErrorKind::unsupported);
}

TEST_CASE("an empty DT_DEBUG: a static program, or one whose interpreter has not run yet") {
  Image image;
  Elf64_Dyn debug = {};
  debug.d_tag = DT_DEBUG;
  image.put(Image::kDynamic, debug);
  auto auxv = Image::auxv();
  auto look = read_link_map(image, auxv);
  REQUIRE_FALSE(look);
  CHECK(look.error().kind == ErrorKind::unsupported);

  Elf64_Phdr interpreter = {};
  interpreter.p_type = PT_INTERP;
  image.put(sizeof(Elf64_Ehdr) + 2 * sizeof interpreter, interpreter);
  auxv[AT_PHNUM] = 3;
  look = read_link_map(image, auxv);
  REQUIRE_FALSE(look);
  CHECK(look.error().kind != ErrorKind::unsupported);
  CHECK(look.error().message == kLoaderHasNotRun);
}

TEST_CASE("an auxiliary vector that lies is refused") {
  Image image;
  auto auxv = Image::auxv();
  auxv[AT_PHNUM] = UINT64_MAX;
  auto look = read_link_map(image, auxv);
  REQUIRE_FALSE(look);
  CHECK(look.error().kind == ErrorKind::malformed);
  CHECK_FALSE(read_link_map(image, {}));
}
