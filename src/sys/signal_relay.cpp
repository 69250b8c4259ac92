#include "cudart_doctor/sys/signal_relay.hpp"

#include <pthread.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "cudart_doctor/sys/proc_root.hpp"

namespace cudart_doctor {
namespace {

constexpr std::array kAskForEnd = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
/// What a terminal sends to all processes in its foreground.
constexpr std::array kFromTerminal = {SIGINT, SIGQUIT, SIGHUP, SIGWINCH};
constexpr std::array kRelayed = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
                                 SIGUSR2, SIGALRM, SIGPWR,  SIGWINCH};

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
      active_(std::exchange(other.active_, false)) {}

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
    const bool own = command.pid != 0 && came_from(info, command.pid);
    if (own) continue;  // `kill 0` in a script means its own group and has reached it.
    if (among(kAskForEnd, info.ssi_signo)) {
      arrived.end_requests.push_back(static_cast<int>(info.ssi_signo));
    }
    arrived.window_changed = arrived.window_changed || info.ssi_signo == SIGWINCH;
    if (command.pid != 0 && !has_it_already(info, command.pid)) send(command, info);
  }
}

}  // namespace cudart_doctor
