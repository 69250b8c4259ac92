// What supervise and self_child share: a child of ours that is ended and waited for in bounded
// time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/sys/unique_fd.hpp"

namespace cudart_doctor {

using SteadyTime = std::chrono::steady_clock::time_point;

/// Milliseconds until `end`, as poll wants them: 0 when it has passed.
int milliseconds_until(SteadyTime end);

/// Both ends of a pipe, closed on exec: {read, write}.
Result<std::pair<UniqueFd, UniqueFd>> make_pipe();

/// In the child, right after fork: it gets SIGKILL when its parent ends. False where the parent
/// ended before that could be asked for.
bool die_with_parent(pid_t parent);

/// Waits for `child` until `end`; its wait status, or nothing when it has not ended.
std::optional<int> wait_until(pid_t child, SteadyTime end);

/// SIGKILL, then at most 2 s of waiting. Nothing when the child is in uninterruptible sleep.
std::optional<int> kill_and_wait(pid_t child);

/// "SIGSEGV" for a wait status of a killed child; "exit code 3" for one that left by itself.
std::string describe_status(int status);

}  // namespace cudart_doctor
