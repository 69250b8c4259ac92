#include "cudart_doctor/sys/command_child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/formats/recorder_environment.hpp"
#include "cudart_doctor/sys/child_process.hpp"
#include "cudart_doctor/sys/proc_root.hpp"
#include "static_tls.hpp"
#include "trace_stop.hpp"

namespace cudart_doctor {
namespace {

constexpr int kNotFound = 127;
constexpr int kNotExecutable = 126;

/// All that the child needs, made before fork: it may not allocate.
struct Plan {
  std::vector<char*> arguments;
  std::deque<std::string> added;  ///< What `environment` points to besides the doctor's own.
  std::vector<char*> environment;
  StartState state;
  int out = -1;
  int err = -1;
};

/// Puts a variable into the environment: `value_with` makes its value of the caller's own ("" where
/// it has none).
template <typename ValueWith>
void put_variable(Plan& plan, std::string_view name, ValueWith value_with) {
  const std::string start = std::string(name) + "=";
  for (char*& variable : plan.environment) {
    const std::string_view own(variable);
    if (!own.starts_with(start)) continue;
    variable = plan.added.emplace_back(start + value_with(own.substr(start.size()))).data();
    return;
  }
  plan.environment.push_back(plan.added.emplace_back(start + value_with("")).data());
}

Plan make_plan(const CommandOptions& options) {
  Plan plan;
  plan.state = options.state ? *options.state : current_state();
  plan.out = options.out;
  plan.err = options.err;
  for (const std::string& word : options.command) {
    plan.arguments.push_back(const_cast<char*>(word.c_str()));
  }
  plan.arguments.push_back(nullptr);
  for (char** variable = environ; *variable != nullptr; ++variable) {
    plan.environment.push_back(*variable);
  }
  if (!options.audit_library.empty()) {
    put_variable(plan, "LD_AUDIT",
                 [&](std::string_view own) { return recorder_audit(own, options.audit_library); });
    const std::uint64_t needed = static_tls_of(options.command);
    const char* const own = std::getenv("GLIBC_TUNABLES");
    const std::string_view before = own == nullptr ? "" : own;
    if (recorder_tunables(before, needed) != before) {
      put_variable(plan, "GLIBC_TUNABLES",
                   [needed](std::string_view value) { return recorder_tunables(value, needed); });
    }
  }
  plan.environment.push_back(nullptr);
  return plan;
}

/// Takes a descriptor out of the way of 0 to 2. In the child.
int move_up(int fd) {
  constexpr int kAbove = 10;
  return fd < 0 ? fd : ::fcntl(fd, F_DUPFD_CLOEXEC, kAbove);
}

/// In the child. False with errno where a descriptor could not be placed.
bool place_descriptors(const Plan& plan) {
  const int out = move_up(plan.out);
  const int err = move_up(plan.err);
  if ((plan.out >= 0 && out < 0) || (plan.err >= 0 && err < 0)) return false;
  for (int fd = 0; fd < 3; ++fd) {
    // The doctor itself put something there, so that no file of its own gets such a number.
    if (plan.state.closed[static_cast<std::size_t>(fd)]) ::close(fd);
  }
  const auto place = [&plan](int fd, int number) {
    // What the caller closed stays closed, though somebody would read what is written there.
    return fd < 0 || plan.state.closed[static_cast<std::size_t>(number)] || ::dup2(fd, number) >= 0;
  };
  return place(out, STDOUT_FILENO) && place(err, STDERR_FILENO);
}

/// In the child, last before exec: what is pending arrives here.
void restore_signals(const StartState& state) {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action = {};
    action.sa_handler = ::sigismember(&state.ignored, number) == 1 ? SIG_IGN : SIG_DFL;
    // Fails for SIGKILL, SIGSTOP and the two that glibc keeps for itself: they are as they were.
    ::sigaction(number, &action, nullptr);
  }
  ::sigprocmask(SIG_SETMASK, &state.mask, nullptr);
}

struct Ends {
  int report = -1;  ///< errno goes here where exec fails.
  int go = -1;      ///< A byte comes from here once it may execute; -1: at once.
};

/// In the child between fork and exec: only calls that are safe there.
[[noreturn]] void become_command(const Plan& plan, pid_t parent, const Ends& ends) {
  const int report = move_up(ends.report);
  const bool lives = die_with_parent(parent);
  char byte = 0;
  while (lives && ends.go >= 0 && ::read(ends.go, &byte, 1) < 0 && errno == EINTR) {
  }
  if (lives && place_descriptors(plan)) {
    restore_signals(plan.state);
    ::execvpe(plan.arguments.front(), plan.arguments.data(), plan.environment.data());
  }
  const int error = errno;
  static_cast<void>(!::write(report, &error, sizeof error));
  ::_exit(kNotFound);
}

/// Whether a traced child waits for its tracer in a stop before its exec; lets it go on then.
void pass_early_stop_on(pid_t pid) {
  siginfo_t info = {};
  const int kinds = WSTOPPED | WNOHANG | WNOWAIT | __WALL;
  if (::waitid(P_PID, static_cast<id_t>(pid), &info, kinds) != 0 || info.si_pid != pid) return;
  // The stop after exec is for Tracer to see.
  constexpr int kExecStop = SIGTRAP | (PTRACE_EVENT_EXEC << 8U);
  if (info.si_status == kExecStop) return;
  int status = 0;
  if (::waitpid(pid, &status, WNOHANG | __WALL) == pid && WIFSTOPPED(status)) {
    pass_stop_on(pid, status);
  }
}

/// Waits for exec; errno where it failed, 0 where it did not.
int wait_for_exec(const StartedCommand& child, int report) {
  // A traced child that gets a signal before exec stops and does not wake poll.
  constexpr int kLookAgainMs = 20;
  int error = 0;
  while (true) {
    pollfd watched = {report, POLLIN, 0};
    const int ready = ::poll(&watched, 1, child.traced ? kLookAgainMs : -1);
    if (ready == 0) pass_early_stop_on(child.pid);
    if (ready <= 0) continue;
    const ssize_t count = ::read(report, &error, sizeof error);
    if (count < 0 && errno == EINTR) continue;
    return count == sizeof error ? error : 0;
  }
}

/// A child that could not execute is on its way out.
void wait_for_end(pid_t pid) {
  int status = 0;
  while (true) {
    const pid_t seen = ::waitpid(pid, &status, __WALL);
    if (seen < 0 && errno != EINTR) return;
    if (seen != pid) continue;
    if (!WIFSTOPPED(status)) return;
    pass_stop_on(pid, status);
  }
}

StartFailure failed_system_call(int error, std::string_view what) {
  return {system_error(error, what, Need::file_access), kNotExecutable};
}

std::string reason_of(int error, const std::string& file) {
  struct stat info = {};
  if (::stat(file.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) return "it is a folder";
  switch (error) {
    case ENOENT: return "its interpreter or its loader is not there";
    case EACCES: return "it may not be executed (permission, or a file system mounted noexec)";
    case ENOEXEC: return "it is no program that this machine can run";
    default: return std::strerror(error);
  }
}

/// The codes of shells: 127 for ENOENT, of a lost interpreter too, 126 for the rest.
StartFailure exec_failure(int error, const std::string& name) {
  const std::string begin = "cannot start " + escape_foreign(name) + ": ";
  const auto file = find_command(name);
  if (!file && name.find('/') == std::string::npos) {
    // execvp says EACCES where it could not look into one of the folders.
    return {{ErrorKind::not_found, begin + "not found in PATH", error}, kNotFound};
  }
  if (!file && error == ENOENT) {
    return {{ErrorKind::not_found, begin + "no such file or folder", error}, kNotFound};
  }
  const bool refused = error == EACCES || error == EPERM;
  return {{refused ? ErrorKind::permission : ErrorKind::io,
           begin + reason_of(error, file.value_or(name)), error},
          error == ENOENT ? kNotFound : kNotExecutable};
}

UniqueFd open_pidfd(pid_t pid) {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

}  // namespace

tl::expected<StartedCommand, StartFailure> start_command(const CommandOptions& options) {
  auto report = make_pipe();
  auto go = make_pipe();
  if (!report || !go) return tl::unexpected(failed_system_call(errno, "pipe"));
  const Plan plan = make_plan(options);
  const pid_t parent = ::getpid();
  StartedCommand child;
  child.pid = ::fork();
  if (child.pid < 0) return tl::unexpected(failed_system_call(errno, "fork"));
  if (child.pid == 0) {
    become_command(plan, parent,
                   {.report = report->second.get(), .go = options.traced ? go->first.get() : -1});
  }
  report->second.reset();
  child.pidfd = open_pidfd(child.pid);
  if (options.traced) {
    const auto attached = attach(child.pid, kFollowOptions);
    child.traced = attached.has_value();
    if (!attached) child.trace_refused = attached.error();
    static_cast<void>(!::write(go->second.get(), "g", 1));
  }
  const int error = wait_for_exec(child, report->first.get());
  if (error == 0) return child;
  wait_for_end(child.pid);
  return tl::unexpected(exec_failure(error, options.command.front()));
}

}  // namespace cudart_doctor
