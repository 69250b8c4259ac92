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

/// Reads one line field by field; any false leaves the line to the odd ones.
class LineCursor {
 public:
  LineCursor(const char* begin, const char* end) : at_(begin), end_(end) {}

  bool hex(std::uint64_t& value) {
    const char* const begin = at_;
    std::uint64_t sum = 0;
    while (at_ != end_) {
      const std::uint8_t digit = kHex[static_cast<std::uint8_t>(*at_)];
      if (digit == kNoDigit) break;
      sum = (sum << 4U) | digit;
      ++at_;
    }
    value = sum;
    const auto digits = at_ - begin;
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
    while (at_ != end_ && *at_ >= '0' && *at_ <= '9') {
      const auto digit = static_cast<std::uint64_t>(*at_ - '0');
      if (sum > (UINT64_MAX - digit) / 10) return false;
      sum = sum * 10 + digit;
      ++at_;
    }
    value = sum;
    return at_ != begin;
  }

  bool take(char wanted) {
    if (at_ == end_ || *at_ != wanted) return false;
    ++at_;
    return true;
  }

  bool flag(char set, char unset, bool& value) {
    if (at_ == end_ || (*at_ != set && *at_ != unset)) return false;
    value = *at_ == set;
    ++at_;
    return true;
  }

  void skip_blanks() {
    while (at_ != end_ && *at_ == ' ') ++at_;
  }

  [[nodiscard]] bool at_end() const { return at_ == end_; }
  [[nodiscard]] const char* position() const { return at_; }

 private:
  const char* at_;
  const char* end_;
};

/// "lo-hi perms offset major:minor inode [path]" as fs/proc/task_mmu.c prints it: a blank follows
/// the inode even where there is no path.
bool parse_line(const char* begin, const char* end, Mapping& row) {
  LineCursor cursor(begin, end);
  const bool fields =
      cursor.hex(row.lo) && cursor.take('-') && cursor.hex(row.hi) && cursor.take(' ') &&
      cursor.flag('r', '-', row.readable) && cursor.flag('w', '-', row.writable) &&
      cursor.flag('x', '-', row.executable) && cursor.flag('s', 'p', row.shared) &&
      cursor.take(' ') && cursor.hex(row.offset) && cursor.take(' ') &&
      cursor.hex32(row.file.dev_major) && cursor.take(':') && cursor.hex32(row.file.dev_minor) &&
      cursor.take(' ') && cursor.decimal(row.file.inode);
  if (!fields || row.lo >= row.hi) return false;
  if (!cursor.at_end() && !cursor.take(' ')) return false;
  cursor.skip_blanks();
  row.path_begin = static_cast<std::uint32_t>(cursor.position() - begin);
  return true;
}

}  // namespace

Result<MapsTable> parse_maps(std::string text) {
  if (text.size() > kMaxText) return fail(ErrorKind::limit, "maps is larger than 2 GiB");
  MapsTable table;
  table.text = std::move(text);
  table.truncated = !table.text.empty() && table.text.back() != '\n';
  table.rows.reserve(std::min(table.text.size() / kShortestLine + 1, kMostReserved));
  const char* const begin = table.text.data();
  const char* const end = begin + table.text.size();
  for (const char* line = begin; line != end;) {
    const auto left = static_cast<std::size_t>(end - line);
    const void* const found = std::memchr(line, '\n', left);
    const char* const line_end = found != nullptr ? static_cast<const char*>(found) : end;
    Mapping row;
    if (parse_line(line, line_end, row)) {
      row.text_begin = static_cast<std::uint32_t>(line - begin);
      row.text_size = static_cast<std::uint32_t>(line_end - line);
      table.rows.push_back(row);
    } else if (table.odd_lines++ == 0) {
      const auto size = static_cast<std::size_t>(line_end - line);
      table.first_odd_line.assign(line, std::min(size, kMostOddText));
    }
    line = line_end == end ? end : line_end + 1;
  }
  return table;
}

bool addresses_ascend(const MapsTable& maps) {
  for (std::size_t i = 1; i < maps.rows.size(); ++i) {
    if (maps.rows[i].lo < maps.rows[i - 1].hi) return false;
  }
  return true;
}

}  // namespace cudart_doctor
