// A command that a test started, its stdin and stdout in the test's hands.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "cudart_doctor/sys/command_child.hpp"
#include "cudart_doctor/sys/unique_fd.hpp"

namespace live {

/// Starts `options.command` with pipes as stdin and stdout. Ends with the object.
class Started {
 public:
  explicit Started(cudart_doctor::CommandOptions options);
  ~Started();
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

  [[nodiscard]] pid_t pid() const { return command_.pid; }
  [[nodiscard]] const cudart_doctor::StartedCommand& command() const { return command_; }
  /// One line of its stdout, without the end; "" when there is none any more.
  std::string read_line();
  /// The rest of its stdout.
  std::string read_rest();
  /// Ends its stdin.
  void close_input() { input_.reset(); }
  /// Waits for its end; its wait status.
  int wait();
  /// Somebody else waited for it.
  void forget() { command_.pid = 0; }

 private:
  cudart_doctor::StartedCommand command_;
  cudart_doctor::UniqueFd input_;
  cudart_doctor::UniqueFd output_;
};

/// `run_victim VERB ARG...`.
std::vector<std::string> victim(std::vector<std::string> words);

/// What a command printed to stdout until its end.
std::string output_of(const cudart_doctor::CommandOptions& options);

}  // namespace live
