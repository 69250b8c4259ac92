#include "cudart_doctor/collect/process_facts.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <string>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/collect/process_rights.hpp"
#include "cudart_doctor/formats/proc_text.hpp"

namespace cudart_doctor {
namespace {

constexpr std::uint64_t kKernelThread = 0x00200000;  // PF_KTHREAD of the kernel's sched.h.

std::string pid_text(std::int64_t pid) { return "PID " + std::to_string(pid); }

std::map<std::string, std::uint64_t> read_namespaces(const ProcDirectory& process) {
  constexpr std::array<const char*, 7> kNames = {"cgroup", "ipc",  "mnt", "net",
                                                 "pid",    "user", "uts"};
  std::map<std::string, std::uint64_t> namespaces;
  for (const char* name : kNames) {
    auto text = process.read_link(std::string("ns/") + name);  // "mnt:[4026531841]"
    if (!text) continue;
    const auto open = text->find('[');
    if (open == std::string::npos || text->back() != ']') continue;
    const auto number = std::string_view(*text).substr(open + 1, text->size() - open - 2);
    if (auto inode = parse_unsigned(number, 10)) namespaces.emplace(name, *inode);
  }
  return namespaces;
}

Fact<std::string> read_executable(const ProcDirectory& process) {
  auto text = process.read_link("exe");
  if (!text) return Fact<std::string>::unknown(text.error().message);
  return Fact<std::string>::known(std::move(*text));
}

Result<void> check_kind(const StatFile& stat, std::int64_t pid) {
  const std::string who = pid_text(pid) + " (" + escape_foreign(stat.comm) + ")";
  if ((stat.flags & kKernelThread) != 0) {
    return fail(ErrorKind::not_found, who + " is a kernel thread: it maps no libraries");
  }
  const bool ended = stat.state == 'Z' || stat.state == 'X';
  if (ended && stat.threads > 1) {
    return fail(ErrorKind::unsupported, who + ": its main thread has ended and " +
                                            std::to_string(stat.threads - 1) +
                                            " others go on: such a process cannot be looked into");
  }
  if (ended) {
    return fail(ErrorKind::not_found,
                who + " is a zombie: it has ended, and nothing of its memory is left");
  }
  return {};
}

}  // namespace

Error ended(std::int64_t pid) {
  return {ErrorKind::gone, pid_text(pid) + " ended while it was looked at", ESRCH};
}

Result<ProcDirectory> open_process(const ProcDirectory& root, std::int64_t pid) {
  if (pid <= 0) return fail(ErrorKind::not_found, "no process with " + pid_text(pid));
  auto process = root.child(std::to_string(pid));
  if (process) return process;
  if (process.error().kind == ErrorKind::not_found || process.error().kind == ErrorKind::gone) {
    std::string message = "no process with " + pid_text(pid) + " in " + escape_foreign(root.path());
    if (!root.is_procfs()) message += ", where no proc file system is mounted";
    return fail(ErrorKind::not_found, std::move(message), ENOENT);
  }
  return process;
}

Result<void> check_supported(const ProcDirectory& process, std::int64_t pid) {
  auto fd = process.open_file("exe");
  if (!fd) return {};
  std::array<char, 6> head = {};
  const ssize_t count = ::pread(fd->get(), head.data(), head.size(), 0);
  if (count < static_cast<ssize_t>(head.size()) ||
      std::string_view(head.data(), 4) != std::string_view("\177ELF", 4)) {
    return {};
  }
  if (head[4] == 1) {
    return fail(ErrorKind::unsupported,
                pid_text(pid) + " is a 32-bit program: only 64-bit processes are supported");
  }
  if (head[5] == 2) {
    return fail(ErrorKind::unsupported,
                pid_text(pid) + " is a big-endian program: only little-endian is supported");
  }
  return {};
}

Result<ProcessFacts> read_process_facts(const ProcDirectory& process, std::int64_t pid) {
  auto stat_text = process.read_file("stat");
  if (!stat_text) return tl::unexpected(stat_text.error());
  auto stat = parse_stat(*stat_text);
  if (!stat) return tl::unexpected(stat.error());
  if (auto kind = check_kind(*stat, pid); !kind) return tl::unexpected(kind.error());

  ProcessFacts facts;
  facts.pid = pid;
  facts.parent_pid = stat->parent_pid;
  facts.start_ticks = stat->start_ticks;
  facts.comm = stat->comm;
  const auto status = read_status(process);
  if (status) {
    // /proc shows a thread under its number too, though it does not list it.
    if (status->process_id && *status->process_id != pid) {
      return fail(ErrorKind::not_found,
                  pid_text(pid) + " is a thread of process " + std::to_string(*status->process_id));
    }
    facts.uid = status->uid;
    facts.gid = status->gid;
    facts.ns_pids = status->ns_pids;
    facts.threads = status->threads;
  }
  facts.rights = read_rights(process, status);
  facts.executable = read_executable(process);
  facts.namespaces = read_namespaces(process);
  return facts;
}

Fact<std::vector<std::string>> read_command_line(const ProcDirectory& process) {
  // The kernel lets it be 6 MB, of bytes that take ten times as much where they are escaped.
  constexpr std::uint64_t kMost = 256u << 10;
  auto text = process.read_file("cmdline", kMost);
  if (!text) return Fact<std::vector<std::string>>::unknown(text.error().message);
  return Fact<std::vector<std::string>>::known(parse_cmdline(*text));
}

std::uint32_t count_children(const ProcDirectory& process, std::int64_t pid) {
  constexpr std::size_t kMostThreads = 256;  // A thread costs a few microseconds.
  constexpr std::uint64_t kMostText = 1u << 20;
  const auto count = [&](const std::string& thread) {
    const auto text = process.read_file("task/" + thread + "/children", kMostText);
    // A blank follows each number.
    return text ? static_cast<std::uint32_t>(std::ranges::count(*text, ' ')) : 0;
  };
  const auto threads = process.list("task");
  if (!threads) return count(std::to_string(pid));
  std::uint32_t out = 0;
  for (std::size_t i = 0; i < std::min(threads->size(), kMostThreads); ++i) {
    out += count((*threads)[i]);
  }
  return out;
}

void add_own_facts(ProcessFacts& facts) {
  auto own = ProcDirectory::open("/proc/self");
  if (!own) return;
  facts.own_namespaces = read_namespaces(*own);
  facts.own_rights = read_rights(*own, read_status(*own));
}

std::map<std::uint64_t, std::uint64_t> read_auxv(const ProcDirectory& process) {
  auto text = process.read_file("auxv");
  if (!text) return {};
  return parse_auxv(std::as_bytes(std::span(*text)));
}

Result<void> check_still_there(const ProcDirectory& root, const ProcessFacts& facts) {
  // By name and not by the held descriptor: only so does a reused PID show.
  auto process = root.child(std::to_string(facts.pid));
  // Too few descriptors, say, tell nothing of the process.
  const auto over = [&facts](const Error& error) {
    const bool gone = error.kind == ErrorKind::gone || error.kind == ErrorKind::not_found;
    return gone ? ended(facts.pid) : error;
  };
  if (!process) return tl::unexpected(over(process.error()));
  auto text = process->read_file("stat");
  if (!text) return tl::unexpected(over(text.error()));
  auto stat = parse_stat(*text);
  if (!stat) return tl::unexpected(stat.error());
  if (stat->start_ticks != facts.start_ticks) {
    return fail(ErrorKind::gone, pid_text(facts.pid) +
                                     " is another process by now: the first one ended while it "
                                     "was looked at, and its PID was used again");
  }
  if (stat->state == 'Z' || stat->state == 'X') return tl::unexpected(ended(facts.pid));
  return {};
}

Result<TargetFiles> open_files(const ProcDirectory& root, const ProcDirectory& process,
                               const ProcessFacts& facts) {
  auto files = TargetFiles::open(process);
  if (files) return files;
  // The kernel drops the root of a process that is ending before its entry in /proc, which a
  // zombie keeps: "no such file" says that it ended, wherever its number still stands.
  auto there = check_still_there(root, facts);
  if (!there) return tl::unexpected(there.error());
  if (files.error().kind == ErrorKind::not_found) return tl::unexpected(ended(facts.pid));
  return files;
}

}  // namespace cudart_doctor
