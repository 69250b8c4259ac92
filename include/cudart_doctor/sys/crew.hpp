// Many tasks that may each block for ever or crash, done by a few forked workers. What one task
// costs, no other pays: beside a worker that waits for something, another goes on with the next
// task, and one that takes too long is ended.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/sys/child_process.hpp"
#include "cudart_doctor/sys/supervise.hpp"

namespace cudart_doctor {

struct CrewLimits {
  SteadyTime end;                         ///< Of all tasks.
  std::chrono::milliseconds per_task{0};  ///< Of one task.
  unsigned workers = 2;                   ///< That are at work; those that wait come on top.
};

/// So many workers may wait for something beside those at work.
inline constexpr std::size_t kMostWaiting = 16;
/// Once so many tasks of one owner had to wait, the rest of them come behind all others.
inline constexpr std::size_t kMostWaitingOfOne = 4;

/// A task that gave no answer.
struct LostTask {
  std::size_t task = 0;
  /// timeout (it took too long, or the end came), io (its worker crashed).
  ErrorKind kind = ErrorKind::timeout;
  WorkStep step;        ///< What it was at; empty where it was not begun.
  std::string message;  ///< A printable sentence.
};

struct CrewCalls {
  /// In a worker, which does one task after another and keeps what it learns: a task's answer.
  std::function<std::string(std::size_t task, Progress& progress)> work;
  /// In the caller, as the answers come: in no order, each task once.
  std::function<void(std::size_t task, const std::string& answer)> taken;
  std::function<void(const LostTask& lost)> lost;
  /// In the caller: to whom a task belongs; asked for all that are left once one has to wait.
  /// Empty: the order stays.
  std::function<std::uint64_t(std::size_t task)> owner;
};

/// Has `tasks` tasks done. Workers have 512 MiB of memory each and die with the caller; an answer
/// has at most 64 MiB. Returns once every task was taken or lost, two seconds behind the end at the
/// latest. Errors: io (no worker could be started at all; nothing was called then).
Result<void> run_crew(const CrewLimits& limits, std::size_t tasks, const CrewCalls& calls);

}  // namespace cudart_doctor
