// Copies the command's stdout and stderr to where they belong and looks for a line in them
// (--ready-when output:REGEX). A terminal stays a terminal for the command: it gets a pseudo
// terminal of the same size. Where both go to the same place they share one way, so that their
// order stays. A slow reader makes the command wait, not the caller; one that is gone gives the
// command SIGPIPE or EPIPE as it would without.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/sys/unique_fd.hpp"

namespace cudart_doctor {

class OutputWatch {
 public:
  /// Makes the pipes or the pseudo terminal. `matches` is asked for each line (without its end, at
  /// most 64 KiB of it), and for the unfinished last one. Errors: io.
  static Result<OutputWatch> start(std::function<bool(std::string_view line)> matches);
  OutputWatch(OutputWatch&& other) noexcept;
  OutputWatch& operator=(OutputWatch&& other) noexcept;
  OutputWatch(const OutputWatch&) = delete;
  OutputWatch& operator=(const OutputWatch&) = delete;
  /// What was not copied by then is lost, and who still writes gets SIGPIPE: finish() before.
  ~OutputWatch();

  /// For CommandOptions; close_command_ends() after the command was started.
  [[nodiscard]] int command_out() const;
  [[nodiscard]] int command_err() const;
  void close_command_ends();
  /// To poll for reading: ready where there is something to copy and somebody takes it. Empty when
  /// all was copied to its end.
  [[nodiscard]] std::vector<int> descriptors() const;
  /// Copies what is there, without waiting. True once a line has matched.
  bool pump();
  /// When the command has ended: takes all that it wrote, whether or not a reader does already, and
  /// asks for the line that it did not finish. True once a line has matched.
  bool hear_out();
  /// Nothing is looked for any more; copying goes on.
  void stop_looking();
  /// After SIGWINCH: the command's terminal gets the size of the caller's. True where it changed:
  /// the command, which had SIGWINCH from the terminal itself, may have looked too early and has to
  /// get another one.
  bool copy_window_size();
  /// After the command's end. Copies what is left; what somebody else still writes, or what a slow
  /// reader does not take now, is left to a child that copies on after the caller's end. Nothing of
  /// the command is lost, and nobody is waited for.
  void finish();

 private:
  struct State;
  explicit OutputWatch(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace cudart_doctor
