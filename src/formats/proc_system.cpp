// Files of /proc that describe the system: listening sockets, the NVIDIA kernel module, Yama and
// the board.
#include <algorithm>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/formats/proc_text.hpp"

namespace cudart_doctor {
namespace {

/// Takes the next field, separated by blanks; empty at the end.
std::string_view take_field(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  const std::size_t size = std::min(line.find_first_of(" \t"), line.size());
  const std::string_view field = line.substr(0, size);
  line.remove_prefix(size);
  return field;
}

/// "535.261.03": numbers with at least one dot between them and nothing else.
bool is_dotted_version(std::string_view text) {
  const auto parts = split(text, '.');
  if (parts.size() < 2) return false;
  for (const std::string_view part : parts) {
    if (!parse_unsigned(part, 10)) return false;
  }
  return true;
}

/// Blanks, line ends and backslashes stand as "\040" and their kin.
std::string without_octal(std::string_view field) {
  constexpr std::size_t kDigits = 3;
  std::string out;
  for (std::size_t i = 0; i < field.size(); ++i) {
    const auto code = field[i] == '\\' && field.size() - i > kDigits
                          ? parse_unsigned(field.substr(i + 1, kDigits), 8)
                          : std::nullopt;
    if (code && *code <= 0xffU) {
      out += static_cast<char>(*code);
      i += kDigits;
    } else {
      out += field[i];
    }
  }
  return out;
}

}  // namespace

std::set<std::string> parse_mount_points(std::string_view text) {
  std::set<std::string> points;
  for (std::string_view line : split(text, '\n')) {
    constexpr int kFieldsBefore = 4;  // Numbers of the mount and its parent, the device, the root.
    for (int i = 0; i < kFieldsBefore; ++i) take_field(line);
    if (std::string point = without_octal(take_field(line)); point.starts_with('/')) {
      points.insert(std::move(point));
    }
  }
  return points;
}

std::vector<std::uint64_t> parse_listeners(std::string_view text, std::uint16_t port) {
  constexpr std::string_view kListen = "0A";  // TCP_LISTEN
  constexpr int kFieldsToInode = 5;           // queues, timer, retransmits, uid, timeout
  std::vector<std::uint64_t> inodes;
  for (std::string_view line : split(text, '\n')) {
    take_field(line);  // slot
    const std::string_view local = take_field(line);
    take_field(line);  // peer
    if (take_field(line) != kListen) continue;
    // The address has 8 digits in tcp and 32 in tcp6; the port follows the colon in both.
    const std::size_t colon = local.rfind(':');
    if (colon == std::string_view::npos) continue;
    if (parse_unsigned(local.substr(colon + 1), 16) != port) continue;
    for (int i = 0; i < kFieldsToInode; ++i) take_field(line);
    const auto inode = parse_unsigned(take_field(line), 10);
    if (inode && *inode != 0) inodes.push_back(*inode);
  }
  return inodes;
}

std::optional<std::string> parse_driver_version(std::string_view text) {
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.261.03  ..." and, for the open module,
  // "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build ...".
  for (std::string_view line : split(text, '\n')) {
    if (!line.starts_with("NVRM version:")) continue;
    for (auto field = take_field(line); !field.empty(); field = take_field(line)) {
      if (is_dotted_version(field)) return std::string(field);
    }
  }
  return std::nullopt;
}

std::optional<GpuInformation> parse_gpu_information(std::string_view text) {
  GpuInformation out;
  bool has_minor = false;
  for (const std::string_view line : split(text, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view name = trim(line.substr(0, colon));
    const std::string_view value = trim(line.substr(colon + 1));
    if (name == "GPU UUID" && value.starts_with("GPU-")) out.uuid = value;
    if (name != "Device Minor") continue;
    const auto minor = parse_unsigned(value, 10);
    has_minor = minor.has_value();
    out.number = minor.value_or(0);
  }
  if (!has_minor || out.uuid.empty()) return std::nullopt;
  return out;
}

std::optional<int> parse_ptrace_scope(std::string_view text) {
  constexpr int kHighest = 3;
  const auto value = parse_unsigned(trim(text), 10);
  if (!value || *value > kHighest) return std::nullopt;
  return static_cast<int>(*value);
}

bool is_wsl_kernel(std::string_view release) {
  constexpr std::string_view kMaker = "microsoft";
  const auto same_letter = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; };
  return std::search(release.begin(), release.end(), kMaker.begin(), kMaker.end(), same_letter) !=
         release.end();
}

std::optional<std::string> find_tegra(std::string_view compatible) {
  for (const std::string_view name : split(compatible, '\0')) {
    if (name.starts_with("nvidia,tegra")) return std::string(name);
  }
  return std::nullopt;
}

}  // namespace cudart_doctor
