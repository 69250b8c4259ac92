// NUL-separated areas of a process: environ and cmdline, which a process title may overwrite, and
// the auxiliary vector.
#include <algorithm>
#include <bit>
#include <cstring>

#include "cudart_doctor/formats/proc_text.hpp"

namespace cudart_doctor {

static_assert(std::endian::native == std::endian::little, "the reader's own byte order");

EnvironFile parse_environ(std::string_view bytes) {
  EnvironFile result;
  if (bytes.empty()) return result;
  if (bytes.find_first_not_of('\0') == std::string_view::npos) {
    result.all_nul = true;
    return result;
  }
  bool in_gap = false;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\0', at), bytes.size());
    const std::string_view entry = bytes.substr(at, end - at);
    at = end + 1;
    if (entry.empty()) {
      // setproctitle pads with NUL: a run of them is one overwritten place, not many entries.
      if (!in_gap) ++result.odd_entries;
      in_gap = true;
      continue;
    }
    in_gap = false;
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      ++result.odd_entries;
      continue;
    }
    result.variables.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return result;
}

std::vector<std::string> parse_cmdline(std::string_view bytes) {
  std::vector<std::string> arguments;
  const std::size_t first_nul = bytes.find('\0');
  // One text and nothing behind it but padding: a process title (or a program without arguments).
  const bool one_text = first_nul != std::string_view::npos &&
                        bytes.find_first_not_of('\0', first_nul) == std::string_view::npos;
  if (one_text) {
    if (first_nul > 0) arguments.emplace_back(bytes.substr(0, first_nul));
    return arguments;
  }
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t end = std::min(bytes.find('\0', at), bytes.size());
    arguments.emplace_back(bytes.substr(at, end - at));
    at = end + 1;
  }
  return arguments;
}

std::map<std::uint64_t, std::uint64_t> parse_auxv(std::span<const std::byte> bytes) {
  constexpr std::size_t kEntry = 16;
  std::map<std::uint64_t, std::uint64_t> values;
  while (bytes.size() >= kEntry) {
    std::uint64_t type = 0;
    std::uint64_t value = 0;
    std::memcpy(&type, bytes.data(), sizeof type);
    std::memcpy(&value, bytes.data() + sizeof type, sizeof value);
    if (type == 0) break;  // AT_NULL
    values.emplace(type, value);
    bytes = bytes.subspan(kEntry);
  }
  return values;
}

}  // namespace cudart_doctor
