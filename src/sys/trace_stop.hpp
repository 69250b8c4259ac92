// What command_child and tracer share: attaching, and letting a stopped process go on.
#pragma once

#include <sys/ptrace.h>
#include <sys/types.h>

#include "cudart_doctor/base/result.hpp"

namespace cudart_doctor {

/// A process that holds objects of the CUDA family: its first thread only.
inline constexpr unsigned kTraceOptions = PTRACE_O_TRACEEXIT | PTRACE_O_TRACEEXEC;
/// A process that is followed: its threads too, since any of them may fork.
inline constexpr unsigned kFollowOptions =
    kTraceOptions | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE;

/// The PTRACE_EVENT_ of a wait status; 0 for the delivery of a signal.
inline int stop_event(int status) { return static_cast<int>(static_cast<unsigned>(status) >> 16U); }

/// Whether job control has stopped it, and not its tracer alone.
bool is_group_stop(int status);

/// Traces a running thread. Errors: gone, permission (names what forbids it).
Result<void> attach(pid_t pid, unsigned options);

/// Lets a thread that stopped with `status` go on as if nobody watched: a signal is delivered, a
/// stop by job control stays one. One that was killed meanwhile is no error.
void pass_stop_on(pid_t pid, int status);

/// The same, and it is traced no longer.
void detach(pid_t pid, int status);

}  // namespace cudart_doctor
