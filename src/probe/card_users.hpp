// Which processes have a card's device node open, by /proc: also where NVML cannot tell.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "cudart_doctor/sys/proc_root.hpp"

namespace cudart_doctor {

struct NodeUsers {
  std::map<std::string, std::set<std::int64_t>> by_node;  ///< "/dev/nvidia0" -> PIDs
  std::uint64_t unreadable = 0;                           ///< Processes that would not tell.
};

/// "/dev/nvidia" and a number: a card, unlike /dev/nvidiactl and /dev/nvidia-uvm.
bool is_card_node(std::string_view path);

/// Looks at /proc/PID/fd of all processes.
NodeUsers find_node_users(const ProcDirectory& proc);

}  // namespace cudart_doctor
