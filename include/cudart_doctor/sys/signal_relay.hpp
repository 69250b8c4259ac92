// Signals to the launcher go to the command. What the terminal sends reaches both by itself and is
// not passed on twice.
//
// Relayed: what would end the launcher, except SIGKILL and what the kernel sends for a fault of its
// own; WINCH; the real-time signals with their value; TSTP, TTIN, CONT. What was ignored when the
// launcher was started (nohup, a job in the background of a script) stays ignored, as in the
// command. The launcher stops where the command stops, so that a shell sees that.
// Known limit: who signals the whole process group (`kill %1` of a shell, timeout) reaches the
// command itself as well as the launcher, and nothing tells that from a signal to the launcher
// alone: the command gets it twice.
#pragma once

#include <sys/signalfd.h>
#include <sys/types.h>

#include <csignal>
#include <vector>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/sys/command_child.hpp"
#include "cudart_doctor/sys/unique_fd.hpp"

namespace cudart_doctor {

/// What arrived.
struct RelayedSignals {
  /// SIGTERM, SIGINT, SIGHUP, SIGQUIT, in order, from the terminal or from others; not what the
  /// command sent itself.
  std::vector<int> end_requests;
  bool window_changed = false;  ///< SIGWINCH: OutputWatch::copy_window_size().
};

class SignalRelay {
 public:
  /// Blocks the signals that are relayed, and SIGCHLD, in the calling thread; SIGCHLD gets its
  /// default disposition, or the kernel would throw away how a child ended. The destructor restores
  /// both. To be called after current_state() was kept for the command. Errors: io.
  static Result<SignalRelay> start();
  SignalRelay(SignalRelay&& other) noexcept;
  SignalRelay& operator=(SignalRelay&&) = delete;
  SignalRelay(const SignalRelay&) = delete;
  SignalRelay& operator=(const SignalRelay&) = delete;
  ~SignalRelay();

  /// To poll for reading; SIGCHLD wakes it too.
  [[nodiscard]] int descriptor() const { return fd_.get(); }
  /// Takes what arrived and sends it to the command. Before it was started, and after it was waited
  /// for, `command.pid` is 0: nothing is sent.
  RelayedSignals relay(const StartedCommand& command);
  /// The command was stopped by signal `number`: stops the caller too where it was asked to, and in
  /// the foreground of a terminal, until it is continued. SIGCONT is passed on by relay().
  void command_stopped(int number);

 private:
  SignalRelay() = default;
  void take_stop(const StartedCommand& command, const signalfd_siginfo& info);
  UniqueFd fd_;
  sigset_t mask_before_{};
  struct sigaction child_before_{};
  bool active_ = false;
  bool stop_asked_ = false;
};

}  // namespace cudart_doctor
