// A file system of which one file did not answer is not asked for others.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "cudart_doctor/sys/proc_root.hpp"

namespace cudart_doctor {

/// The mount points, as `process` (/proc/PID) sees them, of what `silent` names; not its root,
/// below which everything lies. Empty where that cannot be told. Asks nothing of the file systems.
std::set<std::string> silent_mounts(const ProcDirectory& process,
                                    const std::set<std::string>& silent);

/// Whether `path` is one of `folders` or lies below one.
bool lies_in(const std::set<std::string>& folders, std::string_view path);

}  // namespace cudart_doctor
