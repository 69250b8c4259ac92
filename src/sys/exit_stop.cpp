#include "exit_stop.hpp"

#include <sys/syscall.h>

#include <optional>
#include <string>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/formats/proc_text.hpp"
#include "cudart_doctor/sys/proc_root.hpp"

namespace cudart_doctor {
namespace {

constexpr std::uint64_t kMaxText = std::uint64_t{64} << 10U;

/// The system call that a thread is in; nothing where it runs, or is in none.
std::optional<std::uint64_t> system_call(const ProcDirectory& task, const std::string& tid) {
  const auto text = task.read_file(tid + "/syscall", kMaxText);
  if (!text) return std::nullopt;
  return parse_unsigned(text->substr(0, text->find_first_of(" \n")), 10);
}

bool is_exec(std::optional<std::uint64_t> number) {
  return number && (*number == SYS_execve || *number == SYS_execveat);
}

/// Whether it will do anything more: not a zombie, and not in the middle of its end.
bool lives(const ProcDirectory& task, const std::string& tid) {
  constexpr std::uint64_t kExiting = 0x4;  // PF_EXITING
  const auto text = task.read_file(tid + "/stat", kMaxText);
  if (!text) return false;
  const auto stat = parse_stat(*text);
  return stat && stat->state != 'Z' && stat->state != 'X' && (stat->flags & kExiting) == 0;
}

}  // namespace

ExitStop look_at_exit(pid_t pid) {
  const std::string own = std::to_string(pid);
  const auto task = ProcDirectory::open("/proc/" + own + "/task");
  if (!task) return ExitStop::whole;
  const auto tids = task->list(".");
  if (!tids || tids->size() < 2) return ExitStop::whole;
  // exit_group and signals end all threads; only exit(2) by its first thread leaves the others.
  const bool alone = system_call(*task, own) == SYS_exit;
  for (const std::string& tid : *tids) {
    if (tid == own) continue;
    if (alone && lives(*task, tid)) return ExitStop::first_thread;
    if (!alone && is_exec(system_call(*task, tid))) return ExitStop::other_exec;
  }
  return ExitStop::whole;
}

std::optional<pid_t> process_of(pid_t tid) {
  const auto proc = ProcDirectory::open("/proc");
  if (!proc) return std::nullopt;
  const auto text = proc->read_file(std::to_string(tid) + "/status", kMaxText);
  if (!text) return std::nullopt;
  const auto process = parse_status(*text).process_id;
  return process ? std::optional(static_cast<pid_t>(*process)) : std::nullopt;
}

}  // namespace cudart_doctor
