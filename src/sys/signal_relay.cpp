#include "cudart_doctor/sys/signal_relay.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "cudart_doctor/sys/proc_root.hpp"

namespace cudart_doctor {
namespace {

constexpr std::array kAskForEnd = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
/// What a terminal sends to all processes in its foreground, or to those behind it that read.
constexpr std::array kFromTerminal = {SIGINT, SIGQUIT, SIGHUP, SIGWINCH, SIGTSTP, SIGTTIN};
/// The launcher stops where the command does. Not SIGTTOU: where it is blocked, the launcher could
/// write to a terminal that it may not write to.
constexpr std::array kStop = {SIGTSTP, SIGTTIN};
/// What the kernel sends to the launcher for something that the launcher did itself.
constexpr std::array kForItself = {SIGILL,  SIGTRAP, SIGABRT, SIGBUS, SIGFPE,
                                   SIGSEGV, SIGSYS,  SIGXCPU, SIGXFSZ};
/// All that would end it, and what is passed on for other reasons. Not SIGPIPE: it is ignored.
constexpr std::array kRelayed = {SIGHUP,  SIGINT,   SIGQUIT, SIGTERM, SIGUSR1,   SIGUSR2,   SIGALRM,
                                 SIGPWR,  SIGWINCH, SIGIO,   SIGPROF, SIGVTALRM, SIGSTKFLT, SIGILL,
                                 SIGTRAP, SIGABRT,  SIGBUS,  SIGFPE,  SIGSEGV,   SIGSYS,    SIGXCPU,
                                 SIGXFSZ, SIGTSTP,  SIGTTIN, SIGCONT};

template <std::size_t N>
bool among(const std::array<int, N>& numbers, std::uint32_t number) {
  return std::find(numbers.begin(), numbers.end(), static_cast<int>(number)) != numbers.end();
}

bool is_ignored(int number) {
  struct sigaction action = {};
  return ::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

/// SIGCHLD and what is relayed, except what is ignored: a blocked signal arrives even then.
sigset_t watched_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGCHLD);
  const auto add = [&set](int number) {
    if (!is_ignored(number)) ::sigaddset(&set, number);
  };
  for (const int number : kRelayed) add(number);
  for (int number = SIGRTMIN; number <= SIGRTMAX; ++number) add(number);
  return set;
}

/// Whether the terminal sent it to the command too. A terminal that hangs up tells the leader of
/// its session only, everybody else when the leader has ended.
bool has_it_already(const signalfd_siginfo& info, pid_t command) {
  if (info.ssi_code != SI_KERNEL || !among(kFromTerminal, info.ssi_signo)) return false;
  if (info.ssi_signo == SIGHUP && ::getsid(0) == ::getpid()) return false;
  return ::getpgid(command) == ::getpgrp();
}

/// Whether the kernel, or the launcher itself (abort, raise), meant the launcher and nobody else.
bool is_for_launcher(const signalfd_siginfo& info) {
  if (!among(kForItself, info.ssi_signo)) return false;
  const bool from_kernel = info.ssi_code > 0;
  return from_kernel || static_cast<pid_t>(info.ssi_pid) == ::getpid();
}

/// Stopped by job control, or by its tracer. The state is behind the name, which may hold anything.
bool is_stopped(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, 512> buffer{};
  const ssize_t count = fd.valid() ? ::read(fd.get(), buffer.data(), buffer.size()) : 0;
  if (count <= 0) return false;
  const std::string_view text(buffer.data(), static_cast<std::size_t>(count));
  const std::size_t at = text.rfind(") ");
  if (at == std::string_view::npos || at + 2 >= text.size()) return false;
  return text[at + 2] == 'T' || text[at + 2] == 't';
}

bool is_in_foreground() {
  const UniqueFd terminal(::open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
  return terminal.valid() && ::tcgetpgrp(terminal.get()) == ::getpgrp();
}

/// Returns when it was continued; at once where nobody could continue it (an orphaned group).
void stop_self(int number) {
  sigset_t one;
  sigset_t before;
  ::sigemptyset(&one);
  ::sigaddset(&one, number);
  ::pthread_sigmask(SIG_UNBLOCK, &one, &before);
  ::raise(number);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

bool came_from(const signalfd_siginfo& info, pid_t command) {
  const bool from_a_process =
      info.ssi_code == SI_USER || info.ssi_code == SI_QUEUE || info.ssi_code == SI_TKILL;
  return from_a_process && static_cast<pid_t>(info.ssi_pid) == command;
}

void send(const StartedCommand& command, const signalfd_siginfo& info) {
  const int number = static_cast<int>(info.ssi_signo);
  siginfo_t queued = {};
  queued.si_signo = number;
  queued.si_code = SI_QUEUE;
  queued.si_pid = ::getpid();
  queued.si_uid = ::getuid();
  // The kernel fills int and ptr from one value.
  queued.si_value.sival_ptr = nullptr;
  std::memcpy(&queued.si_value, &info.ssi_ptr, sizeof queued.si_value);
  siginfo_t* const value = info.ssi_code == SI_QUEUE ? &queued : nullptr;
  if (command.pidfd.valid()) {
    ::syscall(SYS_pidfd_send_signal, command.pidfd.get(), number, value, 0);
  } else {
    // A child that was not waited for keeps its number.
    ::kill(command.pid, number);
  }
}

}  // namespace

Result<SignalRelay> SignalRelay::start() {
  SignalRelay relay;
  const sigset_t watched = watched_signals();
  relay.fd_ = UniqueFd(::signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!relay.fd_.valid()) return tl::unexpected(system_error(errno, "signalfd", Need::file_access));
  struct sigaction usual = {};
  usual.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &usual, &relay.child_before_);
  ::pthread_sigmask(SIG_BLOCK, &watched, &relay.mask_before_);
  relay.active_ = true;
  return relay;
}

SignalRelay::SignalRelay(SignalRelay&& other) noexcept
    : fd_(std::move(other.fd_)),
      mask_before_(other.mask_before_),
      child_before_(other.child_before_),
      active_(std::exchange(other.active_, false)),
      stop_asked_(other.stop_asked_) {}

SignalRelay::~SignalRelay() {
  if (!active_) return;
  ::pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
  ::sigaction(SIGCHLD, &child_before_, nullptr);
}

RelayedSignals SignalRelay::relay(const StartedCommand& command) {
  RelayedSignals arrived;
  signalfd_siginfo info = {};
  while (true) {
    const ssize_t count = ::read(fd_.get(), &info, sizeof info);
    if (count < 0 && errno == EINTR) continue;
    if (count != sizeof info) return arrived;
    if (info.ssi_signo == SIGCHLD) continue;
    if (is_for_launcher(info)) continue;
    if (among(kStop, info.ssi_signo)) {
      take_stop(command, info);
      continue;
    }
    const bool own = command.pid != 0 && came_from(info, command.pid);
    if (own) continue;  // `kill 0` in a script means its own group and has reached it.
    if (among(kAskForEnd, info.ssi_signo)) {
      arrived.end_requests.push_back(static_cast<int>(info.ssi_signo));
    }
    arrived.window_changed = arrived.window_changed || info.ssi_signo == SIGWINCH;
    if (command.pid == 0 || has_it_already(info, command.pid)) continue;
    // Who continues a whole group has continued the command before.
    if (info.ssi_signo == SIGCONT && !is_stopped(command.pid)) continue;
    send(command, info);
  }
}

void SignalRelay::take_stop(const StartedCommand& command, const signalfd_siginfo& info) {
  const int number = static_cast<int>(info.ssi_signo);
  if (command.pid == 0 || is_stopped(command.pid)) return stop_self(number);
  stop_asked_ = true;
  if (!has_it_already(info, command.pid) && !came_from(info, command.pid)) send(command, info);
}

void SignalRelay::command_stopped(int number) {
  // Behind the foreground nobody waits for a prompt, and who stops the command alone may continue
  // it alone.
  if (std::exchange(stop_asked_, false) || is_in_foreground()) stop_self(number);
}

}  // namespace cudart_doctor
