#include "cudart_doctor/sys/process_tree.hpp"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <map>
#include <optional>

#include "cudart_doctor/formats/proc_text.hpp"
#include "cudart_doctor/sys/proc_root.hpp"
#include "cudart_doctor/sys/unique_fd.hpp"

namespace cudart_doctor {
namespace {

constexpr std::uint64_t kMaxStat = std::uint64_t{64} << 10U;

/// Nothing for a process that has ended.
std::optional<TreeProcess> read_process(const ProcDirectory& proc, pid_t pid) {
  const auto text = proc.read_file(std::to_string(pid) + "/stat", kMaxStat);
  if (!text) return std::nullopt;
  const auto stat = parse_stat(*text);
  if (!stat) return std::nullopt;
  return TreeProcess{.pid = pid,
                     .parent = static_cast<pid_t>(stat->parent_pid),
                     .start_ticks = stat->start_ticks,
                     .state = stat->state};
}

bool is_same(const ProcDirectory& proc, const TreeProcess& process) {
  const auto now = read_process(proc, process.pid);
  return now && now->start_ticks == process.start_ticks && now->state != 'Z' && now->state != 'X';
}

bool send(const ProcDirectory& proc, const TreeProcess& process, int signal) {
  // Held before the look: what it names then cannot become another process any more.
  const UniqueFd held(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  const bool without = !held.valid() && errno == ENOSYS;
  if ((!held.valid() && !without) || !is_same(proc, process)) return false;
  if (without) return ::kill(process.pid, signal) == 0;
  return ::syscall(SYS_pidfd_send_signal, held.get(), signal, nullptr, 0) == 0;
}

}  // namespace

Result<void> adopt_orphans() {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0) return {};
  return tl::unexpected(system_error(errno, "PR_SET_CHILD_SUBREAPER", Need::file_access));
}

Result<std::vector<TreeProcess>> descendants(pid_t root, const std::string& proc_root) {
  const auto proc = ProcDirectory::open(proc_root);
  if (!proc) return tl::unexpected(proc.error());
  const auto pids = proc->list_pids();
  if (!pids) return tl::unexpected(pids.error());
  std::multimap<pid_t, TreeProcess> by_parent;
  for (const std::int64_t pid : *pids) {
    const auto process = read_process(*proc, static_cast<pid_t>(pid));
    if (process && process->pid != root) by_parent.emplace(process->parent, *process);
  }
  // A process that got another parent between two reads may be reached from itself: each once.
  std::vector<TreeProcess> found;
  const auto take_children = [&](pid_t parent) {
    const auto [begin, end] = by_parent.equal_range(parent);
    for (auto at = begin; at != end; ++at) found.push_back(at->second);
    by_parent.erase(begin, end);
  };
  take_children(root);
  for (std::size_t at = 0; at < found.size(); ++at) take_children(found[at].pid);
  return found;
}

std::size_t signal_processes(const std::vector<TreeProcess>& processes, int signal) {
  const auto proc = ProcDirectory::open("/proc");
  if (!proc) return 0;
  std::size_t reached = 0;
  for (const TreeProcess& process : processes) {
    if (send(*proc, process, signal)) ++reached;
  }
  return reached;
}

}  // namespace cudart_doctor
