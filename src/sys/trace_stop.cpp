#include "trace_stop.hpp"

#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/formats/proc_text.hpp"
#include "cudart_doctor/sys/proc_root.hpp"

namespace cudart_doctor {
namespace {

constexpr std::uint64_t kMaxStatus = std::uint64_t{64} << 10U;

std::string numbered(pid_t pid) { return "process " + std::to_string(pid); }

/// The number behind "TracerPid:"; 0 where nobody traces.
std::uint64_t tracer_in(std::string_view status) {
  constexpr std::string_view kKey = "\nTracerPid:";
  const std::size_t at = status.find(kKey);
  if (at == std::string_view::npos) return 0;
  const std::string_view rest = status.substr(at + kKey.size());
  return parse_unsigned(trim(rest.substr(0, rest.find('\n'))), 10).value_or(0);
}

std::optional<int> ptrace_scope(const ProcDirectory& proc) {
  const auto text = proc.read_file("sys/kernel/yama/ptrace_scope", kMaxStatus);
  return text ? parse_ptrace_scope(*text) : std::nullopt;
}

/// What forbids it, by what can be seen from outside.
std::string why_refused(const ProcDirectory& proc, std::string_view status) {
  if (const auto tracer = tracer_in(status); tracer != 0) {
    return "process " + std::to_string(tracer) + " traces it already (a debugger, strace)";
  }
  const auto scope = ptrace_scope(proc);
  if (scope && *scope == 3) return "Yama forbids it to everybody (kernel.yama.ptrace_scope is 3)";
  if (scope && *scope == 2) {
    return "Yama asks for CAP_SYS_PTRACE (kernel.yama.ptrace_scope is 2)";
  }
  const auto uid = parse_status(status).uid;
  if (uid && *uid != ::getuid()) {
    return "it runs as user " + std::to_string(*uid) + ", which needs CAP_SYS_PTRACE";
  }
  return "it is a set-ID program or one with file capabilities, or a system-call filter or a "
         "security module forbids ptrace";
}

Error refusal(pid_t pid, int error) {
  Error gone{ErrorKind::gone, numbered(pid) + " has ended", error};
  if (error == ESRCH) return gone;
  const std::string begin = numbered(pid) + " cannot be traced: ";
  if (error != EPERM && error != EACCES) {
    return {ErrorKind::io, begin + std::strerror(error), error};
  }
  const auto proc = ProcDirectory::open("/proc");
  if (!proc) return {ErrorKind::permission, begin + std::strerror(error), error};
  const auto status = proc->read_file(std::to_string(pid) + "/status", kMaxStatus);
  if (!status) return gone;
  // A process that ends cannot be traced either: the kernel says EPERM.
  const char state = parse_status(*status).state;
  if (state == 'Z' || state == 'X') return gone;
  return {ErrorKind::permission, begin + why_refused(*proc, *status), error};
}

bool is_job_stop(int signal) {
  return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

/// The signal that is to be delivered when the thread goes on.
long signal_of(int status) { return stop_event(status) == 0 ? WSTOPSIG(status) : 0; }

}  // namespace

Result<void> attach(pid_t pid, unsigned options) {
  if (::ptrace(PTRACE_SEIZE, pid, 0L, static_cast<long>(options)) == 0) return {};
  return tl::unexpected(refusal(pid, errno));
}

bool is_group_stop(int status) {
  return stop_event(status) == PTRACE_EVENT_STOP && is_job_stop(WSTOPSIG(status));
}

void pass_stop_on(pid_t pid, int status) {
  // Only PTRACE_LISTEN leaves a stopped process stopped until SIGCONT.
  ::ptrace(is_group_stop(status) ? PTRACE_LISTEN : PTRACE_CONT, pid, 0L, signal_of(status));
}

void detach(pid_t pid, int status) { ::ptrace(PTRACE_DETACH, pid, 0L, signal_of(status)); }

}  // namespace cudart_doctor
