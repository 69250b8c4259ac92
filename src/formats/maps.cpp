// /proc/PID/maps: one pass over the text, no allocation per line. A large server has some 100,000
// lines, and they are read while the target runs.
#include <algorithm>
#include <array>
#include <cstring>

#include "cudart_doctor/formats/proc_text.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kMaxText = std::size_t{1} << 31U;
constexpr std::size_t kShortestLine = 48;  // Bytes of an anonymous line, about.
constexpr std::size_t kMostReserved = 1U << 20U;
constexpr std::size_t kMostOddText = 4096;
constexpr std::uint8_t kNoDigit = 0xFF;

constexpr std::array<std::uint8_t, 256> make_hex_table() {
  std::array<std::uint8_t, 256> table{};
  table.fill(kNoDigit);
  for (std::uint8_t i = 0; i < 10; ++i) table[std::size_t{'0'} + i] = i;
  for (std::uint8_t i = 0; i < 6; ++i) {
    table[std::size_t{'a'} + i] = static_cast<std::uint8_t>(10 + i);
    table[std::size_t{'A'} + i] = static_cast<std::uint8_t>(10 + i);
  }
  return table;
}
constexpr auto kHex = make_hex_table();

/// Reads one line field by field; any false leaves the line to the odd ones. No end is passed: a
/// line ends with an LF or with the NUL behind its string, and neither is part of any field.
class LineCursor {
 public:
  explicit LineCursor(const char* begin) : at_(begin) {}

  bool hex(std::uint64_t& value) {
    const char* at = at_;
    std::uint64_t sum = 0;
    for (std::uint8_t digit = digit_at(at); digit != kNoDigit; digit = digit_at(++at)) {
      sum = (sum << 4U) | digit;
    }
    const auto digits = at - at_;
    at_ = at;
    value = sum;
    return digits >= 1 && digits <= 16;
  }

  bool hex32(std::uint32_t& value) {
    std::uint64_t wide = 0;
    if (!hex(wide) || wide > UINT32_MAX) return false;
    value = static_cast<std::uint32_t>(wide);
    return true;
  }

  bool decimal(std::uint64_t& value) {
    const char* const begin = at_;
    std::uint64_t sum = 0;
    for (; *at_ >= '0' && *at_ <= '9'; ++at_) {
      const auto digit = static_cast<std::uint64_t>(*at_ - '0');
      if (sum > (UINT64_MAX - digit) / 10) return false;
      sum = sum * 10 + digit;
    }
    value = sum;
    return at_ != begin;
  }

  bool take(char wanted) {
    if (*at_ != wanted) return false;
    ++at_;
    return true;
  }

  bool flag(char set, char unset, bool& value) {
    if (*at_ != set && *at_ != unset) return false;
    value = *at_ == set;
    ++at_;
    return true;
  }

  void skip_blanks() {
    while (*at_ == ' ') ++at_;
  }

  [[nodiscard]] const char* position() const { return at_; }

 private:
  static std::uint8_t digit_at(const char* at) { return kHex[static_cast<std::uint8_t>(*at)]; }

  const char* at_;
};

/// "lo-hi perms offset major:minor inode [path]" as fs/proc/task_mmu.c prints it: a blank follows
/// the inode even where there is no path. Returns where the path begins; nullptr for an odd line.
const char* parse_fields(const char* begin, const char* text_end, Mapping& row) {
  LineCursor cursor(begin);
  const bool fields =
      cursor.hex(row.lo) && cursor.take('-') && cursor.hex(row.hi) && cursor.take(' ') &&
      cursor.flag('r', '-', row.readable) && cursor.flag('w', '-', row.writable) &&
      cursor.flag('x', '-', row.executable) && cursor.flag('s', 'p', row.shared) &&
      cursor.take(' ') && cursor.hex(row.offset) && cursor.take(' ') &&
      cursor.hex32(row.file.dev_major) && cursor.take(':') && cursor.hex32(row.file.dev_minor) &&
      cursor.take(' ') && cursor.decimal(row.file.inode);
  if (!fields || row.lo >= row.hi) return nullptr;
  const bool ends = cursor.position() == text_end || *cursor.position() == '\n';
  if (!ends && !cursor.take(' ')) return nullptr;
  cursor.skip_blanks();
  return cursor.position();
}

const char* find_line_end(const char* from, const char* text_end) {
  const void* const found = std::memchr(from, '\n', static_cast<std::size_t>(text_end - from));
  return found != nullptr ? static_cast<const char*>(found) : text_end;
}

}  // namespace

void MapsParser::expect(std::size_t text_size) {
  table_.rows.reserve(std::min(text_size / kShortestLine + 1, kMostReserved));
}

void MapsParser::take(std::string_view text) {
  text = text.substr(0, std::min(text.size(), kMaxText));
  const std::size_t last = text.rfind('\n');
  if (last == std::string_view::npos) return;
  const char* const begin = text.data();
  while (taken_ <= last) take_line(begin, begin + taken_, begin + last + 1);
}

Result<MapsTable> MapsParser::finish(std::string text) {
  if (text.size() > kMaxText) return fail(ErrorKind::limit, "maps is larger than 2 GiB");
  expect(text.size());
  take(text);
  const char* const begin = text.data();
  table_.truncated = taken_ < text.size();
  if (table_.truncated) take_line(begin, begin + taken_, begin + text.size());
  table_.text = std::move(text);
  return std::move(table_);
}

void MapsParser::take_line(const char* text, const char* line, const char* text_end) {
  Mapping row;
  const char* const path = parse_fields(line, text_end, row);
  // Most lines have no path and end right here.
  const char* const line_end = path != nullptr && *path == '\n'
                                   ? path
                                   : find_line_end(path != nullptr ? path : line, text_end);
  if (path != nullptr) {
    row.text_begin = static_cast<std::uint32_t>(line - text);
    row.text_size = static_cast<std::uint32_t>(line_end - line);
    row.path_begin = static_cast<std::uint32_t>(path - line);
    table_.rows.push_back(row);
  } else if (table_.odd_lines++ == 0) {
    const auto size = static_cast<std::size_t>(line_end - line);
    table_.first_odd_line.assign(line, std::min(size, kMostOddText));
  }
  taken_ = static_cast<std::size_t>(line_end - text) + (line_end == text_end ? 0 : 1);
}

Result<MapsTable> parse_maps(std::string text) { return MapsParser().finish(std::move(text)); }

bool addresses_ascend(const MapsTable& maps) {
  for (std::size_t i = 1; i < maps.rows.size(); ++i) {
    if (maps.rows[i].lo < maps.rows[i - 1].hi) return false;
  }
  return true;
}

}  // namespace cudart_doctor
