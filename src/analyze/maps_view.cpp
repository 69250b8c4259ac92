#include "cudart_doctor/analyze/maps_view.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

/// White space beyond one byte, as str.isspace() counts it.
constexpr std::array<std::string_view, 19> kWideSpace = {
    "\xC2\x85",     "\xC2\xA0",     "\xE1\x9A\x80", "\xE2\x80\x80", "\xE2\x80\x81",
    "\xE2\x80\x82", "\xE2\x80\x83", "\xE2\x80\x84", "\xE2\x80\x85", "\xE2\x80\x86",
    "\xE2\x80\x87", "\xE2\x80\x88", "\xE2\x80\x89", "\xE2\x80\x8A", "\xE2\x80\xA8",
    "\xE2\x80\xA9", "\xE2\x80\xAF", "\xE2\x81\x9F", "\xE3\x80\x80",
};

bool is_byte_space(char c) { return (c >= '\t' && c <= '\r') || (c >= '\x1c' && c <= '\x20'); }

std::size_t space_at_start(std::string_view text) {
  if (is_byte_space(text.front())) return 1;
  for (const std::string_view space : kWideSpace) {
    if (text.starts_with(space)) return space.size();
  }
  return 0;
}

std::size_t space_at_end(std::string_view text) {
  if (is_byte_space(text.back())) return 1;
  for (const std::string_view space : kWideSpace) {
    if (text.ends_with(space)) return space.size();
  }
  return 0;
}

/// Where `word` next occurs, looked for by its first byte that the numbers and permissions of a
/// line cannot hold, and that is none of the commonest in a path ("ilot"): most lines have neither
/// a path nor that byte, and are passed at the speed of memchr.
std::size_t find_word(std::string_view text, std::string_view word, std::size_t from) {
  const std::size_t odd = word.find_first_not_of("0123456789abcdefrwxsp-: ilot");
  const std::size_t anchor = odd == std::string_view::npos ? 0 : odd;
  for (std::size_t at = text.find(word[anchor], from + anchor); at != std::string_view::npos;
       at = text.find(word[anchor], at + 1)) {
    if (text.substr(at - anchor).starts_with(word)) return at - anchor;
  }
  return std::string_view::npos;
}

}  // namespace

std::vector<PythonLine> python_lines_with(const MapsTable& maps, std::string_view word) {
  std::vector<PythonLine> lines;
  std::string_view text = maps.text;
  std::size_t from = 0;
  while (from < text.size()) {
    // One search over the whole text: a hundred thousand short ones cost far more.
    const std::size_t at = find_word(text, word, from);
    if (at == std::string_view::npos) break;
    const auto row = std::upper_bound(
        maps.rows.begin(), maps.rows.end(), at,
        [](std::size_t offset, const Mapping& mapping) { return offset < mapping.text_begin; });
    from = at + word.size();
    if (row == maps.rows.begin()) continue;  // An odd line before the first row.
    const Mapping& mapping = *std::prev(row);
    const std::size_t end = std::size_t{mapping.text_begin} + mapping.text_size;
    if (at + word.size() > end) continue;  // In an odd line, or across two lines.
    from = end;
    const auto index = static_cast<std::uint32_t>(std::prev(row) - maps.rows.begin());
    for (const std::string_view part : split(maps.line(mapping), '\r')) {
      if (part.find(word) != std::string_view::npos) lines.push_back({part, index});
    }
  }
  return lines;
}

std::string_view python_strip(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = space_at_start(text);
    if (size == 0) break;
    text.remove_prefix(size);
  }
  while (!text.empty()) {
    const std::size_t size = space_at_end(text);
    if (size == 0) break;
    text.remove_suffix(size);
  }
  return text;
}

std::optional<std::string_view> line_path(std::string_view line) {
  const std::size_t slash = line.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  return python_strip(line.substr(slash));
}

std::string_view stem_before_so(std::string_view base) {
  const std::size_t dot = base.rfind(".so");
  return dot == std::string_view::npos ? std::string_view() : base.substr(0, dot);
}

std::string_view cut_deleted_mark(std::string_view path) {
  if (path.ends_with(kDeletedMark)) path.remove_suffix(kDeletedMark.size());
  return path;
}

}  // namespace cudart_doctor
