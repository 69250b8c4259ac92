// Width arithmetic on printable text: a unit is one code point or one whole escape.
#include "render/style.hpp"

#include <algorithm>
#include <array>

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

constexpr std::string_view kDots = "...";
constexpr std::size_t kTellingPath = 44;  // Columns in which a shortened path still tells.

/// What must not be cut: a code point with the marks on it, or one escape such as \xff, \u{202e}.
struct Unit {
  std::string_view bytes;
  std::size_t width = 0;
};

std::size_t escape_size(std::string_view text) {
  if (text.size() < 2) return text.size();
  if (text[1] == 'x') return std::min<std::size_t>(4, text.size());
  if (text[1] == 'u') {
    const std::size_t end = text.find('}');
    // The longest escape is \u{10ffff}; a '}' further away belongs to something else.
    if (end != std::string_view::npos && end < 10) return end + 1;
  }
  return 2;
}

std::size_t utf8_size(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  if (byte < 0xC0) return 1;
  if (byte < 0xE0) return 2;
  return byte < 0xF0 ? 3 : 4;
}

std::uint32_t code_point(std::string_view bytes) {
  const auto lead = static_cast<unsigned char>(bytes[0]);
  if (bytes.size() == 1) return lead;
  std::uint32_t code = lead & (0xFFU >> (bytes.size() + 1));
  for (const char next : bytes.substr(1)) {
    code = (code << 6U) | (static_cast<unsigned char>(next) & 0x3FU);
  }
  return code;
}

/// Code points from `first` to `last`.
struct Range {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

// Drawn two columns wide (East Asian Width W and F), whole blocks where that takes in only code
// points that are not assigned. Too wide is harmless: a line then ends early.
constexpr std::array<Range, 29> kWide{{
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x2329, 0x232A},   {0x23E9, 0x23F3},
    {0x25FD, 0x25FE},   {0x2614, 0x2615},   {0x2630, 0x2637},   {0x2648, 0x2653},
    {0x267F, 0x2693},   {0x26A1, 0x26FD},   {0x2705, 0x2705},   {0x270A, 0x270B},
    {0x2728, 0x2757},   {0x2795, 0x2797},   {0x27B0, 0x27BF},   {0x2B1B, 0x2B1C},
    {0x2B50, 0x2B55},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},   {0xA960, 0xA97F},
    {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE10, 0xFE6F},   {0xFF01, 0xFF60},
    {0xFFE0, 0xFFE6},   {0x16FE0, 0x1B2FF}, {0x1D300, 0x1D376}, {0x1F004, 0x1FAFF},
    {0x20000, 0x3FFFD},
}};

// Drawn over the character before (combining marks, variation selectors). Only blocks of nothing
// else: a mark that is missing here counts as one column, which is harmless again.
constexpr std::array<Range, 8> kCombining{{
    {0x0300, 0x036F},
    {0x0483, 0x0489},
    {0x0591, 0x05BD},
    {0x064B, 0x065F},
    {0x1AB0, 0x1ABE},
    {0x1DC0, 0x1DFF},
    {0x20D0, 0x20F0},
    {0xFE00, 0xFE0F},
}};

template <std::size_t kCount>
bool is_in(const std::array<Range, kCount>& ranges, std::uint32_t code) {
  return std::any_of(ranges.begin(), ranges.end(), [code](const Range& range) {
    return code >= range.first && code <= range.last;
  });
}

std::size_t columns_of(std::uint32_t code) {
  constexpr std::uint32_t kFirstSpecial = 0x300;
  if (code < kFirstSpecial) return 1;
  if (is_in(kCombining, code)) return 0;
  return is_in(kWide, code) ? 2 : 1;
}

Unit front_unit(std::string_view text) {
  if (text[0] == '\\') {
    const std::size_t size = escape_size(text);
    return {text.substr(0, size), size};
  }
  const std::string_view bytes = text.substr(0, utf8_size(text[0]));
  return {bytes, columns_of(code_point(bytes))};
}

std::vector<Unit> units_of(std::string_view text) {
  std::vector<Unit> units;
  while (!text.empty()) {
    const Unit unit = front_unit(text);
    text.remove_prefix(unit.bytes.size());
    if (unit.width == 0 && !units.empty()) {
      // A mark stays with what it stands on; the bytes are adjacent.
      Unit& base = units.back();
      base.bytes = {base.bytes.data(), base.bytes.size() + unit.bytes.size()};
    } else {
      units.push_back(unit);
    }
  }
  return units;
}

/// The longest begin of `text` within `width` columns.
std::string_view head_of(std::string_view text, std::size_t width) {
  std::size_t size = 0;
  std::size_t used = 0;
  for (const Unit& unit : units_of(text)) {
    if (used + unit.width > width) break;
    used += unit.width;
    size += unit.bytes.size();
  }
  return text.substr(0, size);
}

/// The longest end of `text` within `width` columns.
std::string_view tail_of(std::string_view text, std::size_t width) {
  const std::vector<Unit> units = units_of(text);
  std::size_t size = 0;
  std::size_t used = 0;
  for (auto unit = units.rbegin(); unit != units.rend(); ++unit) {
    if (used + unit->width > width) break;
    used += unit->width;
    size += unit->bytes.size();
  }
  return text.substr(text.size() - size);
}

std::string_view sgr(Tone tone) {
  switch (tone) {
    case Tone::plain: return {};
    case Tone::good: return "\x1b[32m";
    case Tone::notice: return "\x1b[33m";
    case Tone::bad: return "\x1b[31m";
    case Tone::grave: return "\x1b[1;31m";
  }
  return {};
}

}  // namespace

std::string printable(std::string_view sentence) {
  std::string out;
  bool first = true;
  for (const std::string_view part : split(sentence, '\\')) {
    if (!first) out += '\\';
    first = false;
    out += escape_foreign(part);
  }
  return out;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (const Unit& unit : units_of(text)) width += unit.width;
  return width;
}

std::string cut_end(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width <= kDots.size()) return std::string(kDots.substr(0, width));
  return std::string(head_of(text, width - kDots.size())).append(kDots);
}

std::string cut_middle(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width <= kDots.size()) return std::string(kDots.substr(0, width));
  const std::size_t head = (width - kDots.size()) / 2;
  std::string out(head_of(text, head));
  return out.append(kDots).append(tail_of(text, width - kDots.size() - head));
}

std::string shorten_path(std::string_view path, std::size_t width) {
  if (display_width(path) <= width) return std::string(path);
  const std::vector<std::string_view> parts = split(path, '/');
  const std::size_t last = parts.size() - 1;
  std::size_t used = kDots.size() + 1 + display_width(parts[last]);
  if (last == 0) return cut_middle(path, width);
  if (used > width) {
    if (width <= kNarrowest) return cut_middle(path, width);
    return std::string(kDots).append("/").append(cut_middle(parts[last], width - kDots.size() - 1));
  }
  const auto take = [&](std::size_t index) {
    const std::size_t cost = display_width(parts[index]) + 1;
    if (used + cost > width) return false;
    used += cost;
    return true;
  };
  constexpr std::size_t kTelling = 4;  // e.g. nvidia/cuda_runtime/lib/libcudart.so.12
  std::size_t tail = last;
  while (tail > 1 && last - tail + 1 < kTelling && take(tail - 1)) --tail;
  std::size_t head = 0;
  while (head + 1 < tail && take(head)) ++head;
  while (tail > head + 1 && take(tail - 1)) --tail;
  std::string out;
  // A lone leading "" is the root: "/..." says less than "..." and looks like a path.
  if (head > 1 || (head == 1 && !parts[0].empty())) {
    for (std::size_t i = 0; i < head; ++i) out.append(parts[i]).append("/");
  }
  out.append(kDots);
  for (std::size_t i = tail; i <= last; ++i) out.append("/").append(parts[i]);
  return out;
}

std::string with_short_paths(std::string_view sentence) {
  constexpr std::size_t kPath = 32;
  std::string out;
  for (const std::string_view word : split(sentence, ' ')) {
    if (!out.empty()) out += ' ';
    out += word.starts_with('/') ? shorten_path(word, kPath) : std::string(word);
  }
  return out;
}

std::string pad(std::string_view text, std::size_t width) {
  const std::size_t used = display_width(text);
  std::string out(text);
  if (used < width) out.append(width - used, ' ');
  return out;
}

std::vector<std::string> wrap(std::string_view text, const WrapLimits& limits) {
  std::vector<std::string> lines(1);
  std::size_t used = 0;
  const auto room = [&] {
    return std::max(kNarrowest, lines.size() == 1 ? limits.first : limits.rest);
  };
  for (const std::string_view part : split(text, ' ')) {
    if (part.empty()) continue;
    std::string word(part);
    std::size_t width = display_width(word);
    const std::size_t blank = used == 0 ? 0 : 1;
    // A long path behind a short word ("at PATH") shares its line when enough of it can be shown.
    const std::size_t left = room() - std::min(room(), used + blank);
    if (limits.long_words == LongWords::shorten && width > left && left >= kTellingPath &&
        width > kTellingPath && used != 0) {
      word = shorten_path(word, left);
      width = display_width(word);
    }
    if (used != 0 && used + blank + width > room()) {
      if (lines.size() == limits.max_lines) {
        lines.back() = std::string(head_of(lines.back(), room() - kDots.size() - 1));
        lines.back().append(" ").append(kDots);
        return lines;
      }
      lines.emplace_back();
      used = 0;
    }
    if (limits.long_words == LongWords::shorten && width > room()) {
      word = shorten_path(word, room());
      width = display_width(word);
    }
    if (used != 0) {
      lines.back() += ' ';
      ++used;
    }
    lines.back() += word;
    used += width;
  }
  return lines;
}

std::string paint(std::string_view word, Tone tone, Color color) {
  if (color == Color::off || tone == Tone::plain) return std::string(word);
  return std::string(sgr(tone)).append(word).append("\x1b[0m");
}

}  // namespace cudart_doctor
