// One way from the command to a descriptor of the caller.
#pragma once

#include <string>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/sys/unique_fd.hpp"

namespace cudart_doctor {

class OutputStream {
 public:
  /// A pseudo terminal where `target` is a terminal, else a pipe. Errors: io.
  static Result<OutputStream> open(int target);

  [[nodiscard]] int command_end() const { return theirs_.get(); }
  void close_command_end() { theirs_.reset(); }

  /// Writes what is left, then reads and writes until one side has nothing or takes nothing, or a
  /// MiB was copied. Returns what was read.
  std::string copy();
  /// Reads what the command has written, though nobody takes it now: a MiB at most. Returns it.
  std::string take_rest();
  /// Nothing more will come, and nothing is left; or who reads is gone.
  [[nodiscard]] bool is_over() const { return !ours_.valid() && left_.empty(); }
  /// The descriptor that is waited for now, and whether for writing.
  [[nodiscard]] int waits_for() const;
  [[nodiscard]] bool waits_for_reader() const { return !left_.empty(); }
  /// Where its bytes go.
  [[nodiscard]] int target() const;
  [[nodiscard]] int source() const { return ours_.get(); }
  bool copy_window_size();
  /// Closes the way to the reader, whose input ends when nobody else holds it.
  void close_target();
  /// Copies no more; who still writes gets SIGPIPE, unless somebody else copies on.
  void abandon() {
    ours_.reset();
    left_.clear();
  }

 private:
  OutputStream() = default;
  Result<void> make_pipe_end();
  Result<void> make_terminal_end();
  [[nodiscard]] bool reader_is_gone() const;
  bool write_left();
  bool read_piece();

  int caller_ = -1;   ///< Descriptor of the caller: 1 or 2.
  UniqueFd own_way_;  ///< To the same, not blocking; not valid where there is none.
  UniqueFd ours_;
  UniqueFd theirs_;
  bool is_terminal_ = false;
  std::string left_;  ///< Read and not yet written.
};

}  // namespace cudart_doctor
