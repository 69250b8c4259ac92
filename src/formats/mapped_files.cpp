#include "cudart_doctor/formats/mapped_files.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace cudart_doctor {
namespace {

/// The next field and the blank behind it are taken off `rest`.
std::string_view take_field(std::string_view& rest) {
  const std::size_t end = std::min(rest.find(' '), rest.size());
  const std::string_view field = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return field;
}

template <typename T>
bool read_number(std::string_view text, T& value, int base) {
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value, base);
  return error == std::errc{} && at == end;
}

std::optional<MappedFile> read_line(std::string_view line) {
  // No field before the path has a slash, and most lines of a large process have no path.
  if (line.find('/') == std::string_view::npos) return std::nullopt;
  MappedFile out;
  out.range = take_field(line);
  const std::string_view permissions = take_field(line);
  take_field(line);  // The offset.
  const std::string_view device = take_field(line);
  const std::string_view inode = take_field(line);
  const std::size_t colon = device.find(':');
  constexpr std::size_t kExecutable = 2;
  if (permissions.size() <= kExecutable || colon == std::string_view::npos) return std::nullopt;
  out.executable = permissions[kExecutable] == 'x';
  const bool sound = read_number(device.substr(0, colon), out.key.dev_major, 16) &&
                     read_number(device.substr(colon + 1), out.key.dev_minor, 16) &&
                     read_number(inode, out.key.inode, 10);
  const std::size_t path = line.find_first_not_of(' ');
  if (!sound || !out.key.is_file() || path == std::string_view::npos) return std::nullopt;
  out.path = line.substr(path);
  return out;
}

}  // namespace

std::vector<MappedFile> mapped_files(std::string_view maps) {
  std::vector<MappedFile> out;
  while (!maps.empty()) {
    const std::size_t end = std::min(maps.find('\n'), maps.size());
    const auto file = read_line(maps.substr(0, end));
    maps.remove_prefix(std::min(end + 1, maps.size()));
    if (!file) continue;
    if (!out.empty() && out.back().key == file->key && out.back().path == file->path) {
      out.back().executable = out.back().executable || file->executable;
    } else {
      out.push_back(*file);
    }
  }
  return out;
}

}  // namespace cudart_doctor
