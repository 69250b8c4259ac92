// /proc/PID/status, stat and cgroup. Every field may be missing: kernels differ, and a zombie shows
// fewer lines.

#include <algorithm>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/formats/proc_text.hpp"

namespace cudart_doctor {
namespace {

/// Fields of `text` separated by blanks and tabs.
std::vector<std::string_view> fields_of(std::string_view text) {
  std::vector<std::string_view> fields;
  std::size_t at = 0;
  while (true) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n", at);
    if (begin == std::string_view::npos) return fields;
    const std::size_t end = std::min(text.find_first_of(" \t\r\n", begin), text.size());
    fields.push_back(text.substr(begin, end - begin));
    at = end;
  }
}

/// The first field as a 32-bit number. An id without a name in the reader's user namespace is
/// shown as 65534, which is a number like any other here.
std::optional<std::uint32_t> first_u32(std::string_view text) {
  const auto fields = fields_of(text);
  if (fields.empty()) return std::nullopt;
  const auto value = parse_unsigned(fields.front(), 10);
  if (!value || *value > UINT32_MAX) return std::nullopt;
  return static_cast<std::uint32_t>(*value);
}

std::optional<std::int64_t> to_pid(std::string_view text) {
  const auto value = parse_unsigned(text, 10);
  if (!value || *value > INT64_MAX) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

/// A capability mask: 16 digits without a prefix.
std::optional<std::uint64_t> to_mask(std::string_view text) {
  return parse_unsigned(trim(text), 16);
}

std::vector<std::uint32_t> to_ids(std::string_view text) {
  std::vector<std::uint32_t> ids;
  for (const std::string_view field : fields_of(text)) {
    if (const auto id = first_u32(field)) ids.push_back(*id);
  }
  return ids;
}

/// A line about rights; others are left alone.
void take_right(StatusFile& status, std::string_view key, std::string_view value) {
  if (key == "Groups") {
    status.groups = to_ids(value);
  } else if (key == "CapEff") {
    status.cap_effective = to_mask(value);
  } else if (key == "CapPrm") {
    status.cap_permitted = to_mask(value);
  } else if (key == "CapBnd") {
    status.cap_bounding = to_mask(value);
  } else if (key == "Seccomp") {
    status.seccomp = first_u32(value);
  }
}

}  // namespace

StatusFile parse_status(std::string_view text) {
  StatusFile status;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view key = line.substr(0, colon);
    std::string_view value = line.substr(colon + 1);
    if (key == "Name") {
      if (value.starts_with('\t')) value.remove_prefix(1);
      status.name = std::string(value);
    } else if (key == "State") {
      const std::string_view state = trim(value);
      if (!state.empty()) status.state = state.front();
    } else if (key == "Tgid") {
      status.process_id = to_pid(trim(value));
    } else if (key == "Uid") {
      status.uid = first_u32(value);
    } else if (key == "Gid") {
      status.gid = first_u32(value);
    } else if (key == "Threads") {
      status.threads = first_u32(value).value_or(0);
    } else if (key == "NSpid") {
      for (const std::string_view field : fields_of(value)) {
        if (const auto pid = to_pid(field)) status.ns_pids.push_back(*pid);
      }
    } else {
      take_right(status, key, value);
    }
  }
  return status;
}

std::optional<std::string> parse_cgroup(std::string_view text) {
  // "HIERARCHY:CONTROLLERS:PATH"; the path may hold colons.
  std::optional<std::string> unified;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t first = line.find(':');
    if (first == std::string_view::npos) continue;
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view path = line.substr(second + 1);
    if (line.substr(0, first) == "0" && controllers.empty()) unified = std::string(path);
    for (const std::string_view controller : split(controllers, ',')) {
      if (controller == "devices") return std::string(path);
    }
  }
  return unified;
}

Result<StatFile> parse_stat(std::string_view text) {
  // The name is not escaped here and may hold blanks and parentheses: it ends at the last ')'.
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return fail(ErrorKind::malformed, "stat has no name in parentheses");
  }
  // proc(5) counts from 1; the state is field 3.
  constexpr std::size_t kFirst = 3;
  constexpr std::size_t kParent = 4 - kFirst;
  constexpr std::size_t kFlags = 9 - kFirst;
  constexpr std::size_t kThreads = 20 - kFirst;
  constexpr std::size_t kStart = 22 - kFirst;
  const auto fields = fields_of(text.substr(close + 1));
  if (fields.size() <= kStart) return fail(ErrorKind::malformed, "stat ends before its start time");
  const auto parent = to_pid(fields[kParent]);
  const auto flags = parse_unsigned(fields[kFlags], 10);
  const auto start = parse_unsigned(fields[kStart], 10);
  if (!parent || !flags || !start) return fail(ErrorKind::malformed, "stat holds an odd number");
  StatFile stat;
  stat.comm = std::string(text.substr(open + 1, close - open - 1));
  stat.state = fields[0].front();
  stat.parent_pid = *parent;
  stat.flags = *flags;
  stat.start_ticks = *start;
  stat.threads = parse_unsigned(fields[kThreads], 10).value_or(0);
  return stat;
}

}  // namespace cudart_doctor
