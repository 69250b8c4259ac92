#include "cudart_doctor/formats/ld_cache.hpp"

#include <cstring>
#include <string>

#include "support/catch.hpp"

using namespace cudart_doctor;

namespace {

struct Entry {
  std::string soname;
  std::string path;
  std::uint64_t hwcap = 0;
};

template <typename T>
void append(std::string& out, T value) {
  std::string raw(sizeof value, '\0');
  std::memcpy(raw.data(), &value, sizeof value);
  out += raw;
}

/// The new format as glibc's struct cache_file_new lays it out.
std::string make_cache(const std::vector<Entry>& entries, char byte_order) {
  std::string strings;
  std::string table;
  const std::size_t first = 48 + entries.size() * 24;
  for (const Entry& entry : entries) {
    append(table, std::int32_t{0x0303});
    append(table, static_cast<std::uint32_t>(first + strings.size()));
    strings += entry.soname + '\0';
    append(table, static_cast<std::uint32_t>(first + strings.size()));
    strings += entry.path + '\0';
    append(table, std::uint32_t{0});
    append(table, entry.hwcap);
  }
  std::string cache = "glibc-ld.so.cache1.1";
  append(cache, static_cast<std::uint32_t>(entries.size()));
  append(cache, static_cast<std::uint32_t>(strings.size()));
  cache += byte_order;
  cache.append(48 - cache.size(), '\0');
  return cache + table + strings;
}

/// The old format's header and `count` entries in front, padded to the new one's alignment.
std::string behind_old(const std::string& cache, std::uint32_t count) {
  std::string old = "ld.so-1.7.0";
  old += '\0';
  append(old, count);
  old.append(count * 12, 'x');
  old.append((8 - old.size() % 8) % 8, '\0');
  return old + cache;
}

bool is_cuda(std::string_view soname) { return soname.starts_with("libcu"); }

auto parse(const std::string& text) {
  return parse_ld_cache(std::as_bytes(std::span(text.data(), text.size())), is_cuda);
}

const std::vector<Entry> kEntries = {
    {"libcudart.so.12", "/usr/local/cuda/lib64/libcudart.so.12"},
    {"libc.so.6", "/lib/x86_64-linux-gnu/libc.so.6"},
    {"libcuda.so.1", "/lib/x86_64-linux-gnu/libcuda.so.1", std::uint64_t{1} << 62U},
};

}  // namespace

TEST_CASE("the cache is read in its order and filtered by soname") {
  for (const std::string& text :
       {make_cache(kEntries, 2), make_cache(kEntries, 0), behind_old(make_cache(kEntries, 2), 1),
        behind_old(make_cache(kEntries, 2), 2)}) {
    const auto entries = parse(text);
    REQUIRE(entries);
    REQUIRE(entries->size() == 2);
    CHECK(entries->at(0).soname == "libcudart.so.12");
    CHECK(entries->at(0).path == "/usr/local/cuda/lib64/libcudart.so.12");
    CHECK(entries->at(0).flags == 0x0303);
    CHECK_FALSE(entries->at(0).hwcap);
    CHECK(entries->at(1).soname == "libcuda.so.1");
    CHECK(entries->at(1).hwcap);
  }
}

TEST_CASE("a cache of another byte order is not read") {
  CHECK(parse(make_cache(kEntries, 3)).error().kind == ErrorKind::unsupported);
  CHECK(parse(make_cache(kEntries, 1)).error().kind == ErrorKind::unsupported);
}

TEST_CASE("lies in the cache are malformed, never read") {
  const auto lie = [](std::size_t offset, std::uint32_t value) {
    std::string text = make_cache(kEntries, 2);
    std::memcpy(text.data() + offset, &value, sizeof value);
    return parse(text).error().kind;
  };
  CHECK(lie(20, 1000) == ErrorKind::malformed);  // entries past the end
  CHECK(lie(20, UINT32_MAX) == ErrorKind::limit);
  CHECK(lie(48 + 4, UINT32_MAX) == ErrorKind::malformed);  // soname past the end
  CHECK(lie(48 + 8, 1U << 30U) == ErrorKind::malformed);   // path past the end
  CHECK(parse("").error().kind == ErrorKind::malformed);
  CHECK(parse("ld.so-1.7.0").error().kind == ErrorKind::malformed);
  CHECK(parse(behind_old("", 1)).error().kind == ErrorKind::malformed);
  CHECK(parse(behind_old(make_cache(kEntries, 2), 1).replace(12, 4, "\xff\xff\xff\xff"))
            .error()
            .kind == ErrorKind::malformed);
}

TEST_CASE("a cache cut anywhere is malformed") {
  const std::string text = behind_old(make_cache(kEntries, 2), 2);
  for (std::size_t size = 0; size < text.size(); ++size) {
    CHECK(parse(text.substr(0, size)).error().kind == ErrorKind::malformed);
  }
}
