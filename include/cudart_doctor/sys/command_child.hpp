// Starts the command of `run` as it would have been started without the doctor: same descriptors,
// signal dispositions and mask, process group and terminal.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/sys/unique_fd.hpp"

namespace cudart_doctor {

struct CommandOptions {
  std::vector<std::string> command;  ///< Looked up in PATH as execvp does; not empty.
  /// Added to the environment; LD_AUDIT is put behind the caller's own, with a colon.
  std::string audit_library{};
  /// Descriptors that become its stdout and stderr; -1: the caller's.
  int out = -1;
  int err = -1;
  /// Traced from before its first instruction (PTRACE_SEIZE with kTraceOptions), because the
  /// recorder cannot be in it.
  bool traced = false;
};

struct StartedCommand {
  pid_t pid = 0;
  UniqueFd pidfd;
};

/// Why a command could not be started, and the exit code that says so: 127 not found, 126 found and
/// not executable.
struct StartFailure {
  Error error;
  int exit_code = 127;
};

/// The file that would be executed; nothing where none is found. "" in PATH is the working folder.
std::optional<std::string> find_command(const std::string& name);

/// What the recorder can do in a program file.
enum class Recordable : std::uint8_t {
  yes,
  no_static,
  no_libc,
  no_other_class,
  no_set_id,
  unknown
};
Recordable recordable(const std::string& file);

/// Starts the command. It gets SIGKILL when the calling thread ends by whatever cause.
tl::expected<StartedCommand, StartFailure> start_command(const CommandOptions& options);

}  // namespace cudart_doctor
