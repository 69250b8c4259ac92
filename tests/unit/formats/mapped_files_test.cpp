#include "cudart_doctor/formats/mapped_files.hpp"

#include <fstream>
#include <set>
#include <sstream>

#include "cudart_doctor/formats/proc_text.hpp"
#include "support/catch.hpp"

namespace cudart_doctor {
namespace {

TEST_CASE("the files of a text of maps are those of its table") {
  std::ostringstream text;
  text << std::ifstream("/proc/self/maps").rdbuf();
  const auto table = parse_maps(text.str());
  REQUIRE(table.has_value());
  std::set<FileKey> expected;
  std::set<FileKey> executable;
  for (const Mapping& row : table->rows) {
    if (!row.file.is_file()) continue;
    expected.insert(row.file);
    if (row.executable) executable.insert(row.file);
  }
  std::set<FileKey> found;
  std::set<FileKey> found_executable;
  const std::string maps = text.str();
  for (const MappedFile& file : mapped_files(maps)) {
    found.insert(file.key);
    if (file.executable) found_executable.insert(file.key);
  }
  CHECK(found == expected);
  CHECK(found_executable == executable);
  CHECK(found.size() > 1);
}

TEST_CASE("lines of one file that follow each other are one, executable if one of them is") {
  const auto files = mapped_files(
      "7f0000000000-7f0000001000 r--p 00000000 fe:02 77     /lib/a b.so\n"
      "7f0000001000-7f0000002000 r-xp 00001000 fe:02 77     /lib/a b.so\n"
      "7f0000002000-7f0000003000 rw-p 00000000 00:00 0 \n"
      "7f0000003000-7f0000004000 rw-s 00000000 00:05 12     /dev/nvidia0\n"
      "00400000-00401000 r--p 00002000 fe:02 77     /lib/a b.so (deleted)\n");
  REQUIRE(files.size() == 3);
  CHECK(files[0].range == "7f0000000000-7f0000001000");
  CHECK(files[0].path == "/lib/a b.so");
  CHECK(files[0].executable);
  CHECK(files[0].key == FileKey{0xfe, 2, 77});
  CHECK(files[1].path == "/dev/nvidia0");
  CHECK_FALSE(files[1].executable);
  CHECK(files[2].path == "/lib/a b.so (deleted)");
}

TEST_CASE("odd lines are passed over, and the last one needs no LF") {
  for (const char* const odd :
       {"", "\n", "/", "a /", "1-2 r-xp 0 0:0 x /a", "1-2 r-xp 0 zz:0 5 /a", "1-2 r 0 1:1 5 /a",
        "1-2 r-xp 0 1:1 5", "1-2 r-xp 0 1:1 99999999999999999999999 /a", "1-2 r-xp 0 11 5 /a"}) {
    INFO(odd);
    CHECK(mapped_files(odd).empty());
  }
  CHECK(mapped_files("x\n1-2 r-xp 0 1:1 5 /a").size() == 1);
}

TEST_CASE("a card is told by its device number and its UUID") {
  const auto gpu = parse_gpu_information(
      "Model: \t\t NVIDIA H200\nIRQ:   \t\t 16\nGPU UUID: \t GPU-cc1d84a2-0000\n"
      "Video BIOS: \t 96.00\nDevice Minor: \t 3\n");
  REQUIRE(gpu.has_value());
  CHECK(gpu->number == 3);
  CHECK(gpu->uuid == "GPU-cc1d84a2-0000");
  CHECK_FALSE(parse_gpu_information("GPU UUID: GPU-1\n").has_value());
  CHECK_FALSE(parse_gpu_information("Device Minor: 3\nGPU UUID: ????\n").has_value());
}

}  // namespace
}  // namespace cudart_doctor
