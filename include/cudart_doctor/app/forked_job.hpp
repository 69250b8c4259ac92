// Work in a forked child beside the event loop of `run`, with its answer as bytes on a pipe.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/sys/child_process.hpp"
#include "cudart_doctor/sys/unique_fd.hpp"

namespace cudart_doctor {

class ForkedJob {
 public:
  /// Runs `work` in a child that has no descriptor of the caller's but stdin, stdout, stderr and
  /// `kept` (-1: none), keeps the caller's blocked signals blocked (Ctrl-C is for the command), and
  /// dies with the caller. The caller waits for it with its other children. Errors: io.
  static Result<ForkedJob> start(const std::function<std::string()>& work, SteadyTime end,
                                 int kept = -1);

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// To poll for reading.
  [[nodiscard]] int descriptor() const { return pipe_.get(); }
  /// When it is to be given up; it has a deadline of its own before that.
  [[nodiscard]] SteadyTime end() const { return end_; }
  /// Takes what is there, without blocking. True once it has ended.
  bool pump();
  /// Gives up: SIGKILL.
  void kill();
  /// What it answered; not whole where it crashed.
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  ForkedJob() = default;
  pid_t pid_ = -1;
  UniqueFd pipe_;
  SteadyTime end_;
  std::string bytes_;
};

}  // namespace cudart_doctor
