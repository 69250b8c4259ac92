// The lists of files that package managers keep, by small texts of their documented shapes.
#include "cudart_doctor/formats/package_lists.hpp"

#include <string>

#include "support/catch.hpp"

using namespace cudart_doctor;

namespace {

const KeepPath kAll = [](std::string_view) { return true; };

void append_u32(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>((value >> shift) & 0xFFU);
}

struct RpmEntry {
  std::uint32_t tag = 0;
  std::uint32_t type = 0;
  std::uint32_t offset = 0;
  std::uint32_t count = 0;
};

std::string rpm_header(const std::vector<RpmEntry>& entries, const std::string& data) {
  std::string out;
  append_u32(out, static_cast<std::uint32_t>(entries.size()));
  append_u32(out, static_cast<std::uint32_t>(data.size()));
  for (const RpmEntry& entry : entries) {
    append_u32(out, entry.tag);
    append_u32(out, entry.type);
    append_u32(out, entry.offset);
    append_u32(out, entry.count);
  }
  return out + data;
}

/// NAME p, VERSION 1, RELEASE 2, one file /d/f.
struct SmallRpm {
  std::string data = std::string(
      "p\0"
      "1\0"
      "2\0"
      "f\0"
      "/d/\0"
      "\0\0\0\0",
      16);
  std::vector<RpmEntry> entries = {{1000, 6, 0, 1}, {1001, 6, 2, 1}, {1002, 6, 4, 1},
                                   {1117, 8, 6, 1}, {1118, 8, 8, 1}, {1116, 4, 12, 1}};
  [[nodiscard]] Result<PackageRecord> parse() const {
    const std::string bytes = rpm_header(entries, data);
    return parse_rpm_header(std::as_bytes(std::span(bytes)), kAll);
  }
};

}  // namespace

TEST_CASE("a RECORD gives the paths of its rows") {
  const std::vector<std::pair<std::string, std::vector<std::string>>> rows = {
      {"", {}},
      {"a/b.so,sha256=x,12\nc.py,,\n", {"a/b.so", "c.py"}},
      {"a,b\r\nc,d", {"a", "c"}},
      {"\"x,y\",sha256=z,1\nb,,\n", {"x,y", "b"}},
      {"\"say \"\"hi\"\"\",,\n", {"say \"hi\""}},
      {"\"two\nlines\",,\nb,,\n", {"two\nlines", "b"}},
      {"../../../bin/tool,,\n", {"../../../bin/tool"}},
      {"\"never closed", {"never closed"}},
      {"\n\n,,\na,,\n", {"a"}},
  };
  for (const auto& [text, paths] : rows) {
    INFO(text);
    CHECK(parse_wheel_record(text, kAll) == paths);
  }
}

TEST_CASE("only paths that are to be kept are") {
  const KeepPath keep = [](std::string_view path) { return path.ends_with(".so"); };
  CHECK(parse_wheel_record("a.py,,\nb.so,,\n", keep) == std::vector<std::string>{"b.so"});
  CHECK(parse_dpkg_list("/.\n/usr/a.so\n/usr/b\n", keep) == std::vector<std::string>{"/usr/a.so"});
}

TEST_CASE("dpkg's lists hold absolute paths, its checksums relative ones") {
  CHECK(parse_dpkg_list("/.\n/usr\nodd\n", kAll) == std::vector<std::string>{"/.", "/usr"});
  CHECK(parse_dpkg_sums("d41d8cd98f00b204e9800998ecf8427e  usr/lib/a.so\nodd\n", kAll) ==
        std::vector<std::string>{"/usr/lib/a.so"});
}

TEST_CASE("a stanza is found by package and architecture") {
  const std::string status =
      "Package: a\nStatus: install ok installed\nArchitecture: i386\nVersion: 1\n\n"
      "Package: a\nArchitecture: amd64\nVersion: 2:1.0-3\nDescription: x\n Package: b\n\n"
      "Package: b\nArchitecture: all\nVersion: 7";
  CHECK(find_dpkg_stanza(status, "a", "amd64")->version == "2:1.0-3");
  CHECK(find_dpkg_stanza(status, "a", "")->version == "1");
  CHECK(find_dpkg_stanza(status, "b", "")->version == "7");
  CHECK(find_dpkg_stanza(status, "", "")->package == "a");
  CHECK_FALSE(find_dpkg_stanza(status, "c", ""));
  CHECK_FALSE(find_dpkg_stanza("", "", ""));
}

TEST_CASE("conda-meta gives name, version and files of the document itself") {
  const auto record = parse_conda_meta(
      R"({"link": {"name": "not this", "files": ["nor/this"]}, "name": "cuda-cudart",
          "paths_data": {"paths": [{"_path": "nor/that"}]}, "version": "12.4.127", "size": 1,
          "files": ["lib/libcudart.so.12", ["nested"], "x\ty"], "url": null, "f": 1.5})",
      kAll);
  REQUIRE(record);
  CHECK(record->name == "cuda-cudart");
  CHECK(record->version == "12.4.127");
  CHECK(record->paths == std::vector<std::string>{"lib/libcudart.so.12", "x\ty"});
}

TEST_CASE("what is no conda-meta is malformed") {
  for (const std::string text : {"", "{", "[]", "{\"files\": [\"a\"]}", "{\"name\": 1}", "\xff"}) {
    INFO(text);
    const auto record = parse_conda_meta(text, kAll);
    REQUIRE_FALSE(record);
    CHECK(record.error().kind == ErrorKind::malformed);
  }
}

TEST_CASE("a deeply nested conda-meta does not exhaust the stack") {
  CHECK_FALSE(parse_conda_meta(std::string(1U << 20U, '['), kAll));
}

TEST_CASE("an rpm header gives name, version with release, and files") {
  const auto record = SmallRpm().parse();
  REQUIRE(record);
  CHECK(record->name == "p");
  CHECK(record->version == "1-2");
  CHECK(record->paths == std::vector<std::string>{"/d/f"});
}

TEST_CASE("an rpm header that lies is malformed or beyond the limits") {
  const auto with = [](std::size_t entry, RpmEntry value) {
    SmallRpm rpm;
    rpm.entries[entry] = value;
    return rpm.parse();
  };
  CHECK_FALSE(with(0, {1000, 6, 16, 1}));           // the name lies behind the data
  CHECK_FALSE(with(0, {1000, 4, 0, 1}));            // a name that is a number
  CHECK_FALSE(with(3, {1117, 8, 6, 1U << 30U}));    // more files than allowed
  CHECK_FALSE(with(3, {1117, 8, 6, 9}));            // more names than there are
  CHECK_FALSE(with(5, {1116, 4, 13, 1}));           // a number that ends outside
  CHECK_FALSE(with(5, {1116, 4, 0xFFFFFFFF, 1}));   // an offset that would wrap
  CHECK_FALSE(with(5, {1116, 4, 4, 1}));            // a directory that is not there
  CHECK_FALSE(with(5, {1116, 4, 8, 2}));            // not one directory for each file
  CHECK(with(5, {1116, 6, 12, 1})->paths.empty());  // no numbers: no files are listed
}

TEST_CASE("an rpm header that is cut anywhere is never read past its end") {
  const SmallRpm rpm;
  const std::string whole = rpm_header(rpm.entries, rpm.data);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string part = whole.substr(0, size);
    CHECK_FALSE(parse_rpm_header(std::as_bytes(std::span(part)), kAll));
  }
}
