// Starts the command of `run` as it would have been started without the doctor: same descriptors,
// signal dispositions and mask, process group and terminal.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/sys/start_state.hpp"
#include "cudart_doctor/sys/unique_fd.hpp"

namespace cudart_doctor {

struct CommandOptions {
  std::vector<std::string> command;  ///< Looked up in PATH as execvp does; not empty.
  /// Added to the environment; LD_AUDIT is put behind the caller's own, with a colon.
  std::string audit_library{};
  /// Descriptors that become its stdout and stderr; -1: the caller's.
  int out = -1;
  int err = -1;
  /// Traced from before its first instruction (PTRACE_SEIZE with kFollowOptions), because the
  /// recorder cannot be in it. Tracer::adopt() takes it over.
  bool traced = false;
  /// What it starts with: the state in which the doctor itself was started. Nothing: that of the
  /// calling thread.
  std::optional<StartState> state{};
};

struct StartedCommand {
  pid_t pid = 0;   ///< 0: none was started, or it is gone.
  UniqueFd pidfd;  ///< Not valid where the kernel has none (before 5.3).
  bool traced = false;
  /// Why it is not traced though that was asked for; it was started nevertheless.
  std::optional<Error> trace_refused{};
};

/// Why a command could not be started, and the exit code that says so: 127 not found (or its
/// interpreter), 126 found and
/// not executable.
struct StartFailure {
  Error error;
  int exit_code = 127;
};

/// The file that would be executed; nothing where none is found. "" in PATH is the working folder.
/// A name with a slash is not looked up: it is that file, if there is one.
std::optional<std::string> find_command(const std::string& name);

/// What the recorder can do in a program file.
enum class Recordable : std::uint8_t {
  yes,
  no_static,
  no_libc,         ///< Its loader is not glibc's.
  no_other_class,  ///< 32-bit, or for another machine.
  no_set_id,       ///< Runs with other rights than the caller's: the loader takes LD_AUDIT away.
  unknown
};

/// For a script the answer is its interpreter's; behind `env` that of the program that it names.
Recordable recordable(const std::string& file);

/// Starts the command. It gets SIGKILL when the calling thread ends by whatever cause.
tl::expected<StartedCommand, StartFailure> start_command(const CommandOptions& options);

}  // namespace cudart_doctor
