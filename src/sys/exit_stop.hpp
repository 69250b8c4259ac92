// What a thread that stands in PTRACE_EVENT_EXIT means for its process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace cudart_doctor {

enum class ExitStop : std::uint8_t {
  whole,         ///< The process ends.
  first_thread,  ///< Only this thread: others live on.
  other_exec,    ///< Another thread executes a program and takes this one's place.
};

/// `pid` is the first thread of a process, and in that stop.
ExitStop look_at_exit(pid_t pid);

/// The process that a thread belongs to; nothing where it has ended.
std::optional<pid_t> process_of(pid_t tid);

}  // namespace cudart_doctor
