#include "cudart_doctor/app/launch_look.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <string_view>

#include "cudart_doctor/analyze/scan_plan.hpp"
#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/formats/proc_text.hpp"

namespace cudart_doctor {
namespace {

constexpr std::uint64_t kMostArguments = 256u << 10;

/// Path and whether it is executable, of one line of maps; no path: empty.
struct MapsLine {
  std::string_view path;
  bool executable = false;
};

MapsLine split_line(std::string_view line) {
  // No field before the path has a slash.
  const std::size_t slash = line.find('/');
  if (slash == std::string_view::npos) return {};
  const std::size_t blank = line.find(' ');
  constexpr std::size_t kExecutable = 3;  // Behind the blank: "r-xp".
  return {line.substr(slash),
          line.substr(blank).size() > kExecutable && line[blank + kExecutable] == 'x'};
}

/// The file may have been removed since.
bool is_recorder(std::string_view path, std::string_view recorder) {
  if (recorder.empty() || !path.starts_with(recorder)) return false;
  path.remove_prefix(recorder.size());
  return path.empty() || path == " (deleted)";
}

std::set<std::uint64_t> listening_inodes(const ProcDirectory& process, std::uint16_t port) {
  std::set<std::uint64_t> inodes;
  for (const char* const name : {"net/tcp", "net/tcp6"}) {
    const auto text = process.read_file(name);
    if (!text) continue;
    for (const auto inode : parse_listeners(*text, port)) inodes.insert(inode);
  }
  return inodes;
}

/// Whether the execute bit of a folder that counts for these rights is set.
bool may_search(const struct stat& folder, const StatusFile& rights) {
  if (rights.uid && folder.st_uid == *rights.uid) return (folder.st_mode & S_IXUSR) != 0;
  const bool in_group = (rights.gid && folder.st_gid == *rights.gid) ||
                        std::ranges::find(rights.groups, folder.st_gid) != rights.groups.end();
  return (folder.st_mode & (in_group ? S_IXGRP : S_IXOTH)) != 0;
}

bool holds_one(const ProcDirectory& process, const std::set<std::uint64_t>& inodes) {
  const auto names = process.list("fd");
  if (!names) return false;
  return std::ranges::any_of(*names, [&](const std::string& name) {
    const auto link = process.read_link("fd/" + name);
    constexpr std::string_view kPrefix = "socket:[";
    if (!link || !link->starts_with(kPrefix)) return false;
    const auto number = std::string_view(*link).substr(kPrefix.size());
    const auto inode = parse_unsigned(number.substr(0, number.find(']')), 10);
    return inode && inodes.contains(*inode);
  });
}

}  // namespace

SeenProcess look_at(const ProcDirectory& proc, std::int64_t pid) {
  SeenProcess seen;
  seen.pid = pid;
  const auto process = proc.child(std::to_string(pid));
  if (!process) return seen;
  const auto text = process->read_file("stat");
  const auto stat = text ? parse_stat(*text) : Result<StatFile>(tl::unexpected(text.error()));
  if (stat) {
    seen.parent_pid = stat->parent_pid;
    seen.start_ticks = stat->start_ticks;
  }
  if (auto executable = process->read_link("exe")) seen.executable = std::move(*executable);
  if (const auto bytes = process->read_file("cmdline", kMostArguments)) {
    if (!bytes->empty()) seen.command_line = parse_cmdline(*bytes);
  }
  return seen;
}

MapsLook find_in_maps(std::string_view maps, const MapsQuestion& question) {
  MapsLook look;
  look.readable = true;
  std::string_view before;
  while (!maps.empty()) {
    const std::size_t end = std::min(maps.find('\n'), maps.size());
    const MapsLine line = split_line(maps.substr(0, end));
    maps.remove_prefix(std::min(end + 1, maps.size()));
    if (line.path.empty()) continue;
    look.family = look.family || (line.executable && is_cuda_name(line.path));
    if (line.path == before) continue;
    before = line.path;
    look.recorder = look.recorder || is_recorder(line.path, question.recorder);
    look.text = look.text ||
                (!question.text.empty() && line.path.find(question.text) != std::string_view::npos);
  }
  return look;
}

MapsLook look_into_maps(const ProcDirectory& proc, std::int64_t pid, const MapsQuestion& question) {
  const auto process = proc.child(std::to_string(pid));
  if (!process) return {};
  const auto maps = process->read_file("maps");
  // Empty: it ends in this moment, or it is a thread of the kernel.
  if (!maps || maps->empty()) return {};
  return find_in_maps(*maps, question);
}

bool can_reach(const ProcDirectory& proc, std::int64_t pid, const std::string& path) {
  struct stat here{};
  if (::stat(path.c_str(), &here) != 0) return errno != ENOENT;
  const auto process = proc.child(std::to_string(pid));
  if (!process) return true;
  const auto there = process->stat_file("root" + path);
  if (!there) return there.error().kind != ErrorKind::not_found;
  if (there->st_dev != here.st_dev || there->st_ino != here.st_ino) return false;
  const auto text = process->read_file("status");
  if (!text) return true;
  const StatusFile rights = parse_status(*text);
  constexpr std::uint64_t kPastModes = 1U << 1U | 1U << 2U;  // CAP_DAC_OVERRIDE, _READ_SEARCH
  if (!rights.uid || (rights.cap_effective.value_or(0) & kPastModes) != 0) return true;
  for (std::size_t end = path.rfind('/'); end != 0 && end != std::string::npos;
       end = path.rfind('/', end - 1)) {
    struct stat folder{};
    if (::stat(path.substr(0, end).c_str(), &folder) != 0) continue;
    if (!may_search(folder, rights)) return false;
  }
  return true;
}

bool one_listens(const ProcDirectory& proc, const std::vector<TreeProcess>& processes,
                 std::uint16_t port) {
  std::map<std::string, std::set<std::uint64_t>> inodes;  // By network namespace.
  for (const TreeProcess& each : processes) {
    const auto process = proc.child(std::to_string(each.pid));
    if (!process) continue;
    const auto name = process->read_link("ns/net");
    if (!name) continue;
    auto found = inodes.find(*name);
    if (found == inodes.end()) {
      found = inodes.emplace(*name, listening_inodes(*process, port)).first;
    }
    if (!found->second.empty() && holds_one(*process, found->second)) return true;
  }
  return false;
}

bool is_below(const ProcDirectory& proc, std::int64_t pid, std::int64_t ancestor) {
  constexpr int kDeepest = 4096;
  for (int depth = 0; depth < kDeepest && pid > 1; ++depth) {
    const auto text = proc.read_file(std::to_string(pid) + "/stat");
    const auto stat = text ? parse_stat(*text) : Result<StatFile>(tl::unexpected(text.error()));
    if (!stat) return false;
    if (stat->parent_pid == ancestor) return true;
    pid = stat->parent_pid;
  }
  return false;
}

}  // namespace cudart_doctor
