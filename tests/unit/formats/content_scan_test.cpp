#include "cudart_doctor/formats/content_scan.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "support/catch.hpp"

using namespace cudart_doctor;
using namespace std::string_literals;

namespace {

constexpr std::uint16_t kX86 = 62;
constexpr std::uint16_t kArm = 183;
constexpr std::size_t kBlock = 64 * 1024;

ProgramHeader loaded(std::uint64_t offset, std::uint64_t size, std::uint32_t flags) {
  return {.type = 1,
          .flags = flags,
          .offset = offset,
          .vaddr = offset,
          .filesz = size,
          .memsz = size,
          .align = 4096};
}

ContentScan scan(const std::string& bytes, const std::vector<ProgramHeader>& headers,
                 std::uint16_t machine) {
  MemorySource source(std::as_bytes(std::span(bytes.data(), bytes.size())));
  auto result = scan_contents(source, headers, machine);
  REQUIRE(result);
  return *result;
}

ContentScan scan_code(const std::string& bytes, std::uint16_t machine) {
  return scan(bytes, {loaded(0, bytes.size(), 5)}, machine);
}

ContentScan scan_data(const std::string& bytes) {
  return scan(bytes, {loaded(0, bytes.size(), 4)}, kX86);
}

std::string x86_store(std::uint32_t value) {
  std::string code("\xc7\x07", 2);
  std::string raw(4, '\0');
  std::memcpy(raw.data(), &value, sizeof value);
  return code + raw;
}

std::string word(std::uint32_t value) {
  std::string raw(4, '\0');
  std::memcpy(raw.data(), &value, sizeof value);
  return raw;
}

std::string arm_store(std::uint32_t value, std::size_t between) {
  std::string code = word(0x52800002U | (value << 5U));
  for (std::size_t i = 0; i < between; ++i) code += word(0xd503201f);
  return code + word(0xb9000022);
}

}  // namespace

TEST_CASE("the version constant is counted by value") {
  const std::string code = x86_store(12040) + "\x90"s + x86_store(12040) + x86_store(13000);
  const auto result = scan_code(code, kX86);
  REQUIRE(result.constants.size() == 2);
  CHECK(result.constants[0].value == 12040);
  CHECK(result.constants[0].count == 2);
  CHECK(result.constants[1].value == 13000);
  CHECK(result.constants[1].count == 1);
  CHECK(result.bytes == code.size());
}

TEST_CASE("only plausible versions count") {
  for (const std::uint32_t value : {0U, 6990U, 7005U, 12041U, 20010U, 0x10000U + 12040U}) {
    CHECK(scan_code(x86_store(value), kX86).constants.empty());
  }
  for (const std::uint32_t value : {7000U, 11080U, 20000U}) {
    CHECK(scan_code(x86_store(value), kX86).constants.size() == 1);
  }
  CHECK(scan_code(x86_store(12040).substr(0, 5), kX86).constants.empty());
  CHECK(scan_code("\xc7", kX86).constants.empty());
}

TEST_CASE("constants are searched in executable segments only") {
  const std::string bytes = x86_store(12040) + x86_store(13000);
  CHECK(scan_data(bytes).constants.empty());
  const auto result = scan(bytes, {loaded(0, 6, 5), loaded(6, 6, 4)}, kX86);
  REQUIRE(result.constants.size() == 1);
  CHECK(result.constants[0].value == 12040);
  // A store that begins in code and ends outside it is none.
  CHECK(scan(bytes, {loaded(0, 5, 5), loaded(5, 7, 4)}, kX86).constants.empty());
}

TEST_CASE("the AArch64 pair is found up to three instructions apart, aligned") {
  for (const std::size_t between : {0U, 1U, 2U}) {
    const auto result = scan_code(arm_store(12040, between), kArm);
    REQUIRE(result.constants.size() == 1);
    CHECK(result.constants[0].value == 12040);
    CHECK(result.constants[0].count == 1);
  }
  CHECK(scan_code(arm_store(12040, 3), kArm).constants.empty());
  CHECK(scan_code("\0\0"s + arm_store(12040, 0), kArm).constants.empty());
  CHECK(scan_code(arm_store(12040, 0), kX86).constants.empty());
  CHECK(scan_code(x86_store(12040), kArm).constants.empty());
}

TEST_CASE("a store is found wherever it stands, also cut short") {
  for (const std::size_t size : {6U, 7U, 63U, 64U, 65U, 69U, 70U, 127U, 128U, 129U, 134U, 200U}) {
    for (std::size_t place = 0; place < size; ++place) {
      std::string bytes = std::string(place, '\xc7') + x86_store(12040) + std::string(size, '\x07');
      bytes.resize(size);
      const auto result = scan_code(bytes, kX86);
      CHECK(result.constants.size() == (place + 6 <= size ? 1 : 0));
    }
  }
}

TEST_CASE(
    "of named parts, texts are searched in constants, and code only where they speak for it") {
  const std::string enough = "libcuda.so.1\0CUDA driver is a stub library\0"s;
  const std::string little = "libcuda.so.1\0\0CUDA driver is a stub\0library\0"s;
  const std::string code = x86_store(12040) + x86_store(12040) + enough;
  for (const auto& [texts, speaks] : {std::pair(enough, true), std::pair(little, false)}) {
    const std::string bytes = code + texts + code;
    const ContentParts parts{.code = {{0, code.size()}},
                             .constants = {{code.size(), code.size() + texts.size()}}};
    MemorySource source(std::as_bytes(std::span(bytes.data(), bytes.size())));
    const auto result = scan_contents(source, {loaded(0, bytes.size(), 5)}, kX86, parts);
    REQUIRE(result);
    CHECK(result->yardstick.size() == (speaks ? 2 : 1));
    REQUIRE(result->constants.size() == (speaks ? 1 : 0));
    if (speaks) CHECK(result->constants[0].count == 2);
    CHECK(result->bytes == texts.size() + (speaks ? code.size() : 0));
  }
}

TEST_CASE("a border between blocks hides nothing and counts nothing twice") {
  const std::string text = "x\0CUDA driver is a stub library\0"s;
  for (std::size_t place = kBlock - 300; place <= kBlock + 8; ++place) {
    std::string bytes(kBlock + 1024, '\0');
    bytes.replace(place, 6, x86_store(12040));
    bytes.replace(place + 10, text.size(), text);
    const auto result = scan_code(bytes, kX86);
    REQUIRE(result.constants.size() == 1);
    CHECK(result.constants[0].count == 1);
    CHECK(result.yardstick.size() == 1);
    CHECK(result.bytes == bytes.size());
  }
  for (std::size_t place = kBlock - 304; place <= kBlock + 8; place += 4) {
    std::string bytes(kBlock + 1024, '\0');
    bytes.replace(place, 16, arm_store(12040, 2));
    const auto result = scan_code(bytes, kArm);
    REQUIRE(result.constants.size() == 1);
    CHECK(result.constants[0].count == 1);
  }
}

TEST_CASE("every text is found at every alignment") {
  std::vector<std::string_view> texts(kYardstickTexts.begin(), kYardstickTexts.end());
  texts.insert(texts.end(), kMarkerTexts.begin(), kMarkerTexts.end());
  for (const std::string_view text : texts) {
    for (std::size_t shift = 0; shift < 9; ++shift) {
      const auto result = scan_data(std::string(shift, '\x01') + std::string(text) + '\0');
      std::vector<std::string> found = result.yardstick;
      found.insert(found.end(), result.markers.begin(), result.markers.end());
      CHECK(std::find(found.begin(), found.end(), text) != found.end());
    }
  }
}

TEST_CASE("a yardstick string is a whole C string") {
  CHECK(scan_data("libcuda.so.1\0"s).yardstick.size() == 1);
  CHECK(scan_data("libcuda.so.12\0"s).yardstick.empty());
  CHECK(scan_data("libcuda.so.1"s).yardstick.empty());
}

TEST_CASE("the texts of TileLang's stubs tell the releases apart") {
  const auto first = scan_data("TileLang Error: libcudart symbols not found globally. X\0"s);
  CHECK(first.markers ==
        std::vector<std::string>{"TileLang Error: libcudart symbols not found globally."});
  const auto later = scan_data("TileLang Error: cudart symbols not found. Make sure\0"s);
  CHECK(later.markers == std::vector<std::string>{"TileLang Error: cudart symbols not found."});
}

TEST_CASE("NVRTC's version is its banner, and only NVRTC's") {
  const std::string banner = "Cuda compilation tools, release 13.0, V13.0.88\0"s;
  const std::string error = "NVRTC_ERROR_OUT_OF_MEMORY\0"s;
  CHECK(scan_data(banner + error).text_version == "13.0.88");
  CHECK_FALSE(scan_data(banner).text_version);
  CHECK(scan_data("Cuda compilation tools, release %d.%d, \0"s + banner + error).text_version ==
        "13.0.88");
  CHECK_FALSE(scan_data(banner + "Cuda compilation tools, release 12.4, V12.4.127\0"s + error)
                  .text_version);
  CHECK_FALSE(scan_data("Cuda compilation tools, release 13.0, V\0"s + error).text_version);
}

TEST_CASE("a driver's version is that of its profile file") {
  const std::string path = "/usr/share/nvidia/nvidia-application-profiles-535.261.03-rc\0"s;
  const std::string banner = "Cuda compilation tools, release 12.2, V12.2.149\0"s;
  CHECK(scan_data(path).text_version == "535.261.03");
  CHECK(scan_data(banner + path).text_version == "535.261.03");
  CHECK_FALSE(scan_data("/usr/share/nvidia/nvidia-application-profiles-rc\0"s).text_version);
  CHECK_FALSE(scan_data("/nvidia-application-profiles-535.261.03\0"s).text_version);
}

TEST_CASE("overlapping segments are searched once") {
  const std::string bytes = x86_store(12040) + x86_store(12040);
  std::vector<ProgramHeader> headers(256, loaded(0, UINT64_MAX, 5));
  headers.push_back(loaded(3, UINT64_MAX, 5));
  const auto result = scan(bytes, headers, kX86);
  CHECK(result.bytes == bytes.size());
  REQUIRE(result.constants.size() == 1);
  CHECK(result.constants[0].count == 2);
  CHECK(scan(bytes, {loaded(1000, 50, 5)}, kX86).bytes == 0);
  CHECK(scan(bytes, {}, kX86).bytes == 0);
}
