// Copies the command's stdout and stderr to where they belong and looks for a line in them
// (--ready-when output:REGEX). A terminal stays a terminal for the command: it gets a pseudo
// terminal of the same size.
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
  OutputWatch(const OutputWatch&) = delete;
  ~OutputWatch();

  /// For CommandOptions; close_command_ends() after the command was started.
  [[nodiscard]] int command_out() const;
  [[nodiscard]] int command_err() const;
  void close_command_ends();
  /// To poll for reading; empty when all was read to its end.
  [[nodiscard]] std::vector<int> descriptors() const;
  /// Copies what is there. True once a line has matched.
  bool pump();
  /// Nothing is looked for any more; copying goes on.
  void stop_looking();

 private:
  struct State;
  explicit OutputWatch(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace cudart_doctor
