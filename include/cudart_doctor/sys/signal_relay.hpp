// Signals to the launcher go to the command. What the terminal sends reaches both by itself and is
// not passed on twice; stop and continue signals keep their ordinary effect.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <vector>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/sys/unique_fd.hpp"

namespace cudart_doctor {

class SignalRelay {
 public:
  /// Blocks the signals that are relayed, and SIGCHLD, in the calling thread; the destructor
  /// restores the mask. Errors: io.
  static Result<SignalRelay> start();
  SignalRelay(SignalRelay&& other) noexcept;
  SignalRelay(const SignalRelay&) = delete;
  ~SignalRelay();

  /// To poll for reading.
  [[nodiscard]] int descriptor() const { return fd_.get(); }
  /// Takes what arrived. Signals for the command are sent through `pidfd` (-1: it is gone); returns
  /// those that ask for an end (SIGTERM, SIGINT, SIGHUP, SIGQUIT), from wherever they came.
  std::vector<int> relay(int pidfd);
  /// What the command is to start with.
  [[nodiscard]] const sigset_t& original_mask() const { return original_; }

 private:
  SignalRelay() = default;
  UniqueFd fd_;
  sigset_t original_{};
  bool active_ = false;
};

}  // namespace cudart_doctor
