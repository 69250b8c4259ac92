// What earlier launchers have left.
#pragma once

#include <string>

#include "cudart_doctor/sys/proc_root.hpp"

namespace cudart_doctor {

/// Removes below `place` the caller's own folders of recorders whose launcher is gone: nobody
/// listens at their socket. What cannot be looked at stays.
void remove_stale_recorders(const std::string& place);

/// Removes below `place` the caller's own folders in which only the library was kept, for processes
/// that outlived their command, once no process has it mapped; not in their first minute. Reads the
/// maps of all processes where there is such a folder.
void remove_kept_recorders(const std::string& place, const ProcDirectory& proc);

}  // namespace cudart_doctor
