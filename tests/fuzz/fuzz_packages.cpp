// Any bytes as records of package managers: the first byte tells which.
#include <cstdint>
#include <span>
#include <string_view>

#include "cudart_doctor/formats/package_lists.hpp"
#include "cudart_doctor/formats/sqlite_table.hpp"

using namespace cudart_doctor;

namespace {

void read_database(std::span<const std::byte> bytes) {
  MemorySource source(bytes);
  auto reader = SqliteReader::open(source);
  if (!reader) return;
  const auto go_on = [](const SqliteRow&) { return SqliteReader::Next::go_on; };
  const auto root = reader->find_table("Packages");
  (void)reader->scan(root ? *root : 2, go_on);
  (void)reader->find_row(root ? *root : 2, 1);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
  const std::string_view text(static_cast<const char*>(static_cast<const void*>(bytes.data())),
                              bytes.size());
  const KeepPath keep = [](std::string_view) { return true; };
  switch (data[0] % 6) {
    case 0: read_database(bytes); break;
    case 1: (void)parse_rpm_header(bytes, keep); break;
    case 2: (void)parse_wheel_record(text, keep); break;
    case 3: (void)parse_conda_meta(text, keep); break;
    case 4: (void)find_dpkg_stanza(text, "a", "b"); break;
    default:
      (void)parse_dpkg_list(text, keep);
      (void)parse_dpkg_sums(text, keep);
      break;
  }
  return 0;
}
