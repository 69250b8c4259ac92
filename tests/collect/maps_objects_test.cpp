// Grouping of mappings into objects, and which paths never were files.
#include "cudart_doctor/collect/link_map.hpp"
#include "cudart_doctor/collect/path_check.hpp"
#include "cudart_doctor/collect/read_maps.hpp"
#include "cudart_doctor/formats/proc_text.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;

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
