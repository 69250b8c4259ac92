// Text and binary files of /proc: maps, status, stat, environ, cmdline, auxv, cgroup, net/tcp.
// Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/model/maps.hpp"

namespace cudart_doctor {

/// Parses the whole of maps. Odd lines are skipped and counted; one of them never fails the file.
/// Errors: limit (more than 2^31 bytes).
Result<MapsTable> parse_maps(std::string text);

/// The same while the text still grows.
class MapsParser {
 public:
  /// Makes room for the rows of a text of this size. What is not touched costs nothing.
  void expect(std::size_t text_size);
  /// Takes the whole lines of `text`, which begins with all that was given before.
  void take(std::string_view text);
  /// `text` is all of it. Errors as of parse_maps.
  Result<MapsTable> finish(std::string text);

 private:
  void take_line(const char* text, const char* line, const char* text_end);

  MapsTable table_;
  std::size_t taken_ = 0;  ///< Where the next line begins.
};

/// True when addresses never go backwards: the cheap consistency test of one read.
bool addresses_ascend(const MapsTable& maps);

struct StatusFile {
  std::string name;
  std::optional<std::int64_t> process_id;  ///< Tgid: of a thread its process, else itself.
  std::optional<std::uint32_t> uid;        ///< Real.
  std::optional<std::uint32_t> gid;
  std::vector<std::int64_t> ns_pids;  ///< NSpid, outermost first.
  std::uint32_t threads = 0;
  char state = '?';
  std::vector<std::uint32_t> groups;           ///< Supplementary.
  std::optional<std::uint64_t> cap_effective;  ///< CapEff, one bit a capability.
  std::optional<std::uint64_t> cap_permitted;
  std::optional<std::uint64_t> cap_bounding;
  std::optional<std::uint32_t> seccomp;  ///< Absent where the kernel has no seccomp.
};
StatusFile parse_status(std::string_view text);

struct StatFile {
  std::string comm;  ///< May hold blanks and parentheses.
  char state = '?';
  std::int64_t parent_pid = 0;
  std::uint64_t start_ticks = 0;
  std::uint64_t threads = 0;  ///< 0: not known.
  std::uint64_t flags = 0;  ///< PF_KTHREAD is 0x00200000.
};
Result<StatFile> parse_stat(std::string_view text);

/// NUL-separated strings of environ. Entries without '=' are kept out and counted.
struct EnvironFile {
  std::vector<std::pair<std::string, std::string>> variables;
  std::uint64_t odd_entries = 0;
  bool all_nul = false;  ///< Not empty and nothing but NUL: overwritten, so unknown.
};
EnvironFile parse_environ(std::string_view bytes);

/// argv of cmdline; one element holding the whole text where a title overwrote it.
std::vector<std::string> parse_cmdline(std::string_view bytes);

/// The path in /proc/PID/cgroup that decides which devices may be opened: the v1 devices
/// controller's where there is one, else the unified one's. On a host with both, no device rule is
/// in the unified hierarchy. Nothing when the text has neither line.
std::optional<std::string> parse_cgroup(std::string_view text);

/// AT_ type -> value.
std::map<std::uint64_t, std::uint64_t> parse_auxv(std::span<const std::byte> bytes);

/// Inodes of sockets that listen on `port` in a /proc/net/tcp or tcp6 text.
std::vector<std::uint64_t> parse_listeners(std::string_view text, std::uint16_t port);

/// The mount points in a mountinfo text, as bytes.
std::set<std::string> parse_mount_points(std::string_view text);

/// The version in /proc/driver/nvidia/version; nothing when the text has none.
std::optional<std::string> parse_driver_version(std::string_view text);

/// A card as /proc/driver/nvidia/gpus/*/information names it.
struct GpuInformation {
  std::uint64_t number = 0;  ///< N of /dev/nvidiaN.
  std::string uuid;
};
/// Nothing where one of the two is not in the text.
std::optional<GpuInformation> parse_gpu_information(std::string_view text);

/// The value of /proc/sys/kernel/yama/ptrace_scope, 0 to 3; nothing for another text.
std::optional<int> parse_ptrace_scope(std::string_view text);

/// True for the kernel release of WSL2 ("5.15.167.4-microsoft-standard-WSL2"), in any case.
bool is_wsl_kernel(std::string_view release);

/// The first "nvidia,tegra..." among the NUL-separated names of /proc/device-tree/compatible.
std::optional<std::string> find_tegra(std::string_view compatible);

}  // namespace cudart_doctor
