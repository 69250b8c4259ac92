#include "cudart_doctor/formats/package_lists.hpp"

#include <utility>

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

/// Cuts the first line off `rest`, without its line end.
std::string_view take_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

/// The quoted field at the beginning of `rest`, which loses the whole row. A quote is doubled
/// inside, and a line break is data there.
std::string take_quoted_row(std::string_view& rest) {
  std::string field;
  std::size_t at = 1;
  while (at < rest.size()) {
    if (rest[at] != '"') {
      field += rest[at++];
    } else if (at + 1 < rest.size() && rest[at + 1] == '"') {
      field += '"';
      at += 2;
    } else {
      break;
    }
  }
  rest.remove_prefix(at);
  static_cast<void>(take_line(rest));
  return field;
}

/// "VALUE" of "Key: VALUE".
std::string_view field_of(std::string_view line, std::string_view key) {
  if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != ':') return {};
  return trim(line.substr(key.size() + 1));
}

}  // namespace

std::vector<std::string> parse_wheel_record(std::string_view text, const KeepPath& keep) {
  std::vector<std::string> out;
  while (!text.empty()) {
    if (text.front() == '"') {
      std::string path = take_quoted_row(text);
      if (keep(path)) out.push_back(std::move(path));
      continue;
    }
    const std::string_view line = take_line(text);
    const std::string_view path = line.substr(0, line.find(','));
    if (!path.empty() && keep(path)) out.emplace_back(path);
  }
  return out;
}

std::vector<std::string> parse_dpkg_list(std::string_view text, const KeepPath& keep) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::string_view path = take_line(text);
    if (path.starts_with('/') && keep(path)) out.emplace_back(path);
  }
  return out;
}

std::vector<std::string> parse_dpkg_sums(std::string_view text, const KeepPath& keep) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    const std::size_t blank = line.find("  ");
    if (blank == std::string_view::npos) continue;
    std::string path = "/" + std::string(line.substr(blank + 2));
    if (keep(path)) out.push_back(std::move(path));
  }
  return out;
}

std::optional<DpkgStanza> find_dpkg_stanza(std::string_view status, std::string_view package,
                                           std::string_view architecture) {
  DpkgStanza stanza;
  std::string_view machine;
  while (true) {
    const bool at_end = status.empty();
    const std::string_view line = take_line(status);
    if (line.empty()) {
      const bool is_it = !stanza.package.empty() &&
                         (package.empty() || stanza.package == package) &&
                         (architecture.empty() || machine == architecture);
      if (is_it) return stanza;
      if (at_end) return std::nullopt;
      stanza = {};
      machine = {};
      continue;
    }
    if (line.front() == ' ') continue;
    if (const auto name = field_of(line, "Package"); !name.empty()) stanza.package = name;
    if (const auto version = field_of(line, "Version"); !version.empty()) stanza.version = version;
    if (const auto value = field_of(line, "Architecture"); !value.empty()) machine = value;
  }
}

}  // namespace cudart_doctor
