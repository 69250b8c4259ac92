#include <string>

#include "cudart_doctor/formats/proc_text.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;

namespace {

constexpr const char* kFile =
    "7f1a30000000-7f1a300a7000 r-xp 00001000 fd:0a 1835010                    ";

}  // namespace

TEST_CASE("a maps line gives its numbers and its path as shown") {
  const auto maps = parse_maps(std::string(kFile) + "/opt/x/libcudart.so.12\n").value();
  REQUIRE(maps.rows.size() == 1);
  const Mapping& row = maps.rows[0];
  CHECK(row.lo == 0x7f1a30000000U);
  CHECK(row.hi == 0x7f1a300a7000U);
  CHECK(row.offset == 0x1000U);
  CHECK(row.file == FileKey{0xfd, 0x0a, 1835010});
  CHECK(row.readable);
  CHECK_FALSE(row.writable);
  CHECK(row.executable);
  CHECK_FALSE(row.shared);
  CHECK(maps.path(row) == "/opt/x/libcudart.so.12");
  CHECK(maps.line(row) == std::string(kFile) + "/opt/x/libcudart.so.12");
  CHECK(maps.odd_lines == 0);
  CHECK_FALSE(maps.truncated);
}

TEST_CASE("the path is everything after the inode's padding") {
  const std::string paths[] = {
      "/a b/lib (copy).so",
      "/x/libcudart.so.12 (deleted)",
      "/memfd:cuda (deleted)",
      "[heap]",
      "[anon:x y]",
      "/non\xff\xfeutf8",
      "/ends in blank ",
      "/new\\012line",
      "anon_inode:[perf]",
  };
  for (const std::string& path : paths) {
    const auto maps = parse_maps(kFile + path + '\n').value();
    REQUIRE(maps.rows.size() == 1);
    CHECK(maps.path(maps.rows[0]) == path);
  }
}

TEST_CASE("a mapping without a path has an empty one") {
  for (const std::string tail : {"0 \n", "0\n"}) {
    const auto maps = parse_maps("1000-2000 rw-p 00000000 00:00 " + tail).value();
    REQUIRE(maps.rows.size() == 1);
    CHECK(maps.path(maps.rows[0]).empty());
    CHECK_FALSE(maps.rows[0].file.is_file());
  }
}

TEST_CASE("odd lines are counted and never fail the file") {
  const std::string odd[] = {
      "",
      "garbage",
      "1000-2000",
      "1000 2000 r-xp 00000000 00:00 0 /x",
      "zz-2000 r-xp 00000000 00:00 0 /x",
      "2000-1000 r-xp 00000000 00:00 0 /x",
      "1000-1000 r-xp 00000000 00:00 0 /x",
      "11112222333344445-2 r-xp 00000000 00:00 0 /x",
      "1000-2000 rwxq 00000000 00:00 0 /x",
      "1000-2000 r-x 00000000 00:00 0 /x",
      "1000-2000 r-xp 00000000 0000 0 /x",
      "1000-2000 r-xp 00000000 100000000:00 0 /x",
      "1000-2000 r-xp 00000000 00:00 18446744073709551616 /x",
      "1000-2000 r-xp 00000000 00:00 x /x",
      "1000-2000 r-xp 00000000 00:00 1x /x",
  };
  for (const std::string& line : odd) {
    INFO(line);
    const auto maps = parse_maps(line + "\n3000-4000 r--p 00000000 00:00 0 \n").value();
    CHECK(maps.rows.size() == 1);
    CHECK(maps.odd_lines == 1);
    CHECK(maps.first_odd_line == line);
  }
}

TEST_CASE("the first odd line is kept, the others are counted") {
  const auto maps = parse_maps("one\n1000-2000 r--p 00000000 00:00 0 \ntwo\nthree\n").value();
  CHECK(maps.odd_lines == 3);
  CHECK(maps.first_odd_line == "one");
}

TEST_CASE("a text without its last line feed is cut") {
  const auto maps = parse_maps("1000-2000 r--p 00000000 00:00 7 /lib/a\n3000-40").value();
  CHECK(maps.truncated);
  CHECK(maps.rows.size() == 1);
  CHECK(maps.odd_lines == 1);
  CHECK_FALSE(parse_maps("").value().truncated);
  CHECK(parse_maps("").value().rows.empty());
}

TEST_CASE("the whole address range fits") {
  const auto maps =
      parse_maps("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0    [vsyscall]\n").value();
  REQUIRE(maps.rows.size() == 1);
  CHECK(maps.rows[0].lo == 0xffffffffff600000U);
  CHECK(maps.path(maps.rows[0]) == "[vsyscall]");
}

TEST_CASE("addresses that go backwards betray a torn read") {
  const std::string low = "1000-2000 r--p 00000000 00:00 0 \n";
  const std::string high = "3000-4000 r--p 00000000 00:00 0 \n";
  const std::string across = "1800-3800 r--p 00000000 00:00 0 \n";
  CHECK(addresses_ascend(parse_maps(low + high).value()));
  CHECK_FALSE(addresses_ascend(parse_maps(high + low).value()));
  CHECK_FALSE(addresses_ascend(parse_maps(low + across).value()));
  CHECK(addresses_ascend(MapsTable{}));
}

TEST_CASE("a maps text cut anywhere gives no more rows than lines") {
  const std::string text = std::string(kFile) + "/opt/a\n" + kFile + "/opt/b c\n";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const auto maps = parse_maps(text.substr(0, size)).value();
    CHECK(maps.rows.size() + maps.odd_lines <= 2);
    for (const Mapping& row : maps.rows) CHECK(maps.path(row).size() <= maps.line(row).size());
  }
}

TEST_CASE("a maps text that is parsed while it grows gives the same rows as the whole") {
  const std::string text = std::string(kFile) +
                           "/opt/a\nno maps line\n1000-2000 rw-p 00000000 00:00 0 \n" + kFile +
                           "/opt/b c";
  const MapsTable whole = parse_maps(text).value();
  for (std::size_t size = 0; size <= text.size(); ++size) {
    MapsParser parser;
    parser.take(std::string_view(text).substr(0, size));
    const MapsTable maps = parser.finish(text).value();
    REQUIRE(maps.rows.size() == whole.rows.size());
    for (std::size_t i = 0; i < maps.rows.size(); ++i) {
      CHECK(maps.line(maps.rows[i]) == whole.line(whole.rows[i]));
      CHECK(maps.path(maps.rows[i]) == whole.path(whole.rows[i]));
    }
    CHECK(maps.odd_lines == 1);
    CHECK(maps.first_odd_line == "no maps line");
    CHECK(maps.truncated);
  }
}
