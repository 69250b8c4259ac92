#include "cudart_doctor/base/text.hpp"

#include <array>
#include <charconv>
#include <cstring>

namespace cudart_doctor {
namespace {

constexpr char kHexDigits[] = "0123456789abcdef";

/// A decoded code point and how many bytes it took; size 0 where the bytes are no valid UTF-8.
struct Decoded {
  std::uint32_t code = 0;
  std::size_t size = 0;
};

Decoded decode_utf8(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  std::size_t size = 0;
  std::uint32_t code = 0;
  std::uint32_t lowest = 0;
  if ((lead & 0xE0U) == 0xC0) {
    size = 2, code = lead & 0x1FU, lowest = 0x80;
  } else if ((lead & 0xF0U) == 0xE0) {
    size = 3, code = lead & 0x0FU, lowest = 0x800;
  } else if ((lead & 0xF8U) == 0xF0) {
    size = 4, code = lead & 0x07U, lowest = 0x10000;
  } else {
    return {};
  }
  if (text.size() < size) return {};
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return {};
    code = (code << 6U) | (byte(i) & 0x3FU);
  }
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < lowest || surrogate || code > 0x10FFFF) return {};
  return {code, size};
}

/// Noncharacters: neither XML nor HTML may hold them.
bool is_noncharacter(std::uint32_t code) {
  return (code & 0xFFFEU) == 0xFFFEU || (code >= 0xFDD0 && code <= 0xFDEF);
}

/// Code points that would steer a terminal or reorder a line when printed, and noncharacters.
bool must_escape(std::uint32_t code) {
  if (is_noncharacter(code)) return true;
  if (code < 0x20 || (code >= 0x7F && code < 0xA0)) return true;        // C0, DEL, C1
  if (code == 0x061C || code == 0x200E || code == 0x200F) return true;  // directional marks
  if (code >= 0x2028 && code <= 0x202E) return true;  // line separators, overrides
  if (code >= 0x2066 && code <= 0x2069) return true;  // isolates
  if (code == 0xFEFF || code == 0x00AD) return true;  // invisible
  if (code >= 0x200B && code <= 0x200D) return true;  // zero width
  return code >= 0xE0000 && code <= 0xE007F;          // tags
}

/// Printable ASCII that stays as it is.
bool is_plain(char c) { return c >= 0x20 && c < 0x7F && c != '\\'; }

void append_hex_byte(std::string& out, std::uint8_t byte) {
  out += "\\x";
  out += kHexDigits[byte >> 4U];
  out += kHexDigits[byte & 0x0FU];
}

void append_code(std::string& out, std::uint32_t code) {
  switch (code) {
    case '\n': out += "\\n"; return;
    case '\t': out += "\\t"; return;
    case '\r': out += "\\r"; return;
    default: break;
  }
  if (code < 0x80) {
    append_hex_byte(out, static_cast<std::uint8_t>(code));
    return;
  }
  std::array<char, 8> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), code, 16).ptr;
  out += "\\u{";
  out.append(digits.data(), end);
  out += '}';
}

/// Number at the start of `text`, which is cut; nothing where there is no digit.
std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::size_t size = 0;
  while (size < text.size() && text[size] >= '0' && text[size] <= '9') ++size;
  if (size == 0) return std::nullopt;
  const auto value = parse_unsigned(text.substr(0, size), 10);
  text.remove_prefix(size);
  return value.value_or(UINT64_MAX);
}

/// Rank of what follows the numbers: a pre-release sorts before nothing, ".post" after it.
int suffix_rank(std::string_view rest) {
  if (rest.empty() || rest.front() == '+') return 0;
  if (rest.starts_with(".post") || rest.starts_with("post")) return 1;
  return -1;
}

}  // namespace

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find(separator, begin);
    if (end == std::string_view::npos) break;
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::string_view base_name(std::string_view path) {
  if (path.empty()) return path;  // Its data may be null, which memrchr must not be given.
  // Asked of every path again and again; rfind goes byte by byte.
  const void* const slash = ::memrchr(path.data(), '/', path.size());
  if (slash == nullptr) return path;
  return path.substr(static_cast<std::size_t>(static_cast<const char*>(slash) - path.data()) + 1);
}

std::string_view dir_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return slash == 0 ? path.substr(0, 1) : path.substr(0, slash);
}

std::optional<std::uint64_t> parse_unsigned(std::string_view text, int base) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::string escape_foreign(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    std::size_t plain = 0;
    while (plain < text.size() && is_plain(text[plain])) ++plain;
    out.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    const Decoded decoded = decode_utf8(text);
    if (decoded.size == 0) {
      append_hex_byte(out, static_cast<std::uint8_t>(text.front()));
      text.remove_prefix(1);
      continue;
    }
    if (decoded.code == '\\') {
      out += "\\\\";
    } else if (must_escape(decoded.code)) {
      append_code(out, decoded.code);
    } else {
      out.append(text.substr(0, decoded.size));
    }
    text.remove_prefix(decoded.size);
  }
  return out;
}

std::string join(const std::vector<std::string>& items, std::string_view separator) {
  std::string out;
  for (const auto& item : items) {
    if (!out.empty()) out += separator;
    out += item;
  }
  return out;
}

std::string count_of(std::uint64_t count, std::string_view noun, std::string_view plural) {
  std::string out = std::to_string(count) + ' ';
  if (count == 1) return out.append(noun);
  if (!plural.empty()) return out.append(plural);
  return out.append(noun).append("s");
}

int compare_versions(std::string_view a, std::string_view b) {
  while (true) {
    const auto left = take_number(a);
    const auto right = take_number(b);
    const std::uint64_t l = left.value_or(0);
    const std::uint64_t r = right.value_or(0);
    if (l != r) return l < r ? -1 : 1;
    const auto more = [](std::string_view text) {
      return text.size() > 1 && text[0] == '.' && text[1] >= '0' && text[1] <= '9';
    };
    const bool more_a = more(a);
    const bool more_b = more(b);
    if (!more_a && !more_b) break;
    if (more_a) a.remove_prefix(1);
    if (more_b) b.remove_prefix(1);
    if (!more_a && suffix_rank(a) != 0) return suffix_rank(a) < 0 ? -1 : 1;
    if (!more_b && suffix_rank(b) != 0) return suffix_rank(b) < 0 ? 1 : -1;
  }
  const int rank_a = suffix_rank(a);
  const int rank_b = suffix_rank(b);
  if (rank_a != rank_b) return rank_a < rank_b ? -1 : 1;
  if (rank_a == 0) return 0;
  return a.compare(b);
}

}  // namespace cudart_doctor
