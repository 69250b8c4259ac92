// /proc/PID/maps as a table: the text is kept once, rows point into it.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cudart_doctor {

/// Identity of a file object: what two mappings of one file share, whatever they are called.
struct FileKey {
  std::uint32_t dev_major = 0;
  std::uint32_t dev_minor = 0;
  std::uint64_t inode = 0;
  auto operator<=>(const FileKey&) const = default;
  [[nodiscard]] bool is_file() const { return inode != 0; }
};

/// One line of maps. `text_*` locate the raw line without its LF in MapsTable::text.
struct Mapping {
  std::uint64_t lo = 0;
  std::uint64_t hi = 0;
  std::uint64_t offset = 0;
  FileKey file;
  std::uint32_t text_begin = 0;
  std::uint32_t text_size = 0;
  std::uint32_t path_begin =
      0;  ///< Start of the path inside the line; text_size when there is none.
  bool readable = false;
  bool writable = false;
  bool executable = false;
  bool shared = false;
};

/// The whole of maps, in file order (ascending addresses, never load order).
struct MapsTable {
  std::string text;
  std::vector<Mapping> rows;
  std::uint64_t odd_lines = 0;  ///< Lines that are no maps line; skipped and counted.
  std::string first_odd_line;
  bool truncated = false;  ///< The text did not end with LF.

  /// The raw line, without LF.
  [[nodiscard]] std::string_view line(const Mapping& row) const {
    return std::string_view(text).substr(row.text_begin, row.text_size);
  }
  /// Everything after the inode field's padding, exactly as the kernel shows it; may be empty.
  [[nodiscard]] std::string_view path(const Mapping& row) const {
    return line(row).substr(row.path_begin);
  }
};

}  // namespace cudart_doctor
