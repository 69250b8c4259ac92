// The processes below the caller, and their end.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "cudart_doctor/base/result.hpp"

namespace cudart_doctor {

struct TreeProcess {
  pid_t pid = 0;
  pid_t parent = 0;
  std::uint64_t start_ticks = 0;  ///< Field 22 of stat.
  char state = '?';
};

/// Orphans below the caller become its children (PR_SET_CHILD_SUBREAPER). Errors: io.
Result<void> adopt_orphans();

/// All processes below `root`, itself not among them, parents first; zombies are among them.
/// Errors: io (`proc_root` cannot be read).
Result<std::vector<TreeProcess>> descendants(pid_t root, const std::string& proc_root);

/// Sends `signal` to each of them that lives, by pidfd and after comparing the start time: a PID
/// that was used again is not hit. Returns how many got it.
std::size_t signal_processes(const std::vector<TreeProcess>& processes, int signal);

}  // namespace cudart_doctor
