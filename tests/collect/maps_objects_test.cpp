// Grouping of mappings into objects, and which paths never were files.
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "cudart_doctor/collect/link_map.hpp"
#include "cudart_doctor/collect/path_check.hpp"
#include "cudart_doctor/collect/read_maps.hpp"
#include "cudart_doctor/formats/proc_text.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;

namespace {

/// A folder that looks like /proc/PID, with a maps file of at least `size` bytes.
class FakeProcess {
 public:
  explicit FakeProcess(std::size_t size) {
    char name[] = "/tmp/doctor-maps-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    directory_ = name;
    std::ofstream maps(directory_ + "/maps");
    std::size_t written = 0;
    for (std::size_t i = 1; written < size; ++i) {
      const std::string line = std::to_string(i) + "000-" + std::to_string(i) +
                               "fff r-xp 00000000 08:01 " + std::to_string(i % 400) + " /lib/" +
                               std::to_string(i % 400) + ".so\n";
      maps << line;
      written += line.size();
    }
  }
  ~FakeProcess() { std::filesystem::remove_all(directory_); }
  FakeProcess(const FakeProcess&) = delete;
  FakeProcess& operator=(const FakeProcess&) = delete;
  [[nodiscard]] MapsTable read(unsigned threads) const {
    const auto process = ProcDirectory::open(directory_);
    REQUIRE(process);
    auto look = read_maps(*process, threads);
    REQUIRE(look);
    return std::move(look->table);
  }

 private:
  std::string directory_;
};

bool same_row(const Mapping& a, const Mapping& b) {
  return a.lo == b.lo && a.hi == b.hi && a.file == b.file && a.text_begin == b.text_begin &&
         a.text_size == b.text_size && a.path_begin == b.path_begin;
}

}  // namespace

TEST_CASE("two threads read the same maps as one") {
  // Longer than what a second thread is asked for, and longer than the room that is made for it.
  const std::size_t size = GENERATE(std::size_t{2} << 20U, std::size_t{34} << 20U);
  const FakeProcess process(size);
  const MapsTable one = process.read(1);
  const MapsTable two = process.read(2);
  CHECK(two.text == one.text);
  CHECK(two.odd_lines == 0);
  REQUIRE(two.rows.size() == one.rows.size());
  CHECK(std::equal(one.rows.begin(), one.rows.end(), two.rows.begin(), &same_row));
}

TEST_CASE("mappings of one device and inode are one object, whatever their names") {
  auto maps = parse_maps(
      "1000-2000 r--p 00000000 08:01 7 /a/libcudart.so.12\n"
      "2000-3000 r-xp 00001000 08:01 7 /a/libcudart.so.12\n"
      "3000-4000 rw-p 00000000 00:00 0 [heap]\n"
      "4000-5000 r--p 00000000 08:01 7 /b/link.so\n"
      "5000-6000 r--p 00000000 08:02 7 /a/libcudart.so.12\n");
  REQUIRE(maps);
  const auto objects = group_objects(*maps);
  REQUIRE(objects.size() == 2);
  CHECK(objects[0].paths == std::vector<std::string>{"/a/libcudart.so.12", "/b/link.so"});
  CHECK(objects[0].rows == std::vector<std::uint32_t>{0, 1, 3});
  CHECK(objects[0].executable);
  CHECK(objects[0].lowest == 0x1000);
  CHECK_FALSE(objects[1].executable);
}

TEST_CASE("objects and their addresses are found where maps was not read in order") {
  auto maps = parse_maps(
      "8000-9000 r--p 00000000 08:01 9 /late.so\n"
      "1000-2000 r-xp 00000000 08:01 7 /early.so\n"
      "2000-3000 rw-p 00000000 00:00 0\n"
      "9000-a000 r-xp 00001000 08:01 9 /late.so\n");
  REQUIRE(maps);
  const auto objects = group_objects(*maps);
  REQUIRE(objects.size() == 2);
  CHECK(objects[0].path() == "/early.so");
  CHECK(objects[1].rows == std::vector<std::uint32_t>{0, 3});
  const AddressIndex index(*maps, objects);
  CHECK(index.find(0x1fff) == 0U);
  CHECK(index.find(0x8000) == 1U);
  CHECK(index.find(0x9fff) == 1U);
  CHECK(index.find(0x2000) == std::nullopt);
  CHECK(index.find(0xa000) == std::nullopt);
}

TEST_CASE("memory has no path, and a file of the same name does") {
  CHECK(is_memory_path("/memfd:x (deleted)", {0, 1, 5}));
  CHECK(is_memory_path("/dev/zero (deleted)", {0, 1, 5}));
  CHECK(is_memory_path("/SYSV00000000 (deleted)", {0, 1, 5}));
  CHECK(is_memory_path("anon_inode:[io_uring]", {0, 15, 5}));
  CHECK_FALSE(is_memory_path("/memfd:x (deleted)", {8, 1, 5}));
  CHECK_FALSE(is_memory_path("/memfd:x", {0, 1, 5}));
  CHECK_FALSE(is_memory_path("/usr/lib/libc.so.6", {8, 1, 5}));
}
