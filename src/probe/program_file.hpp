// The program that a child of the probe executes, as a descriptor.
#pragma once

#include <string>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/sys/unique_fd.hpp"
#include "rights.hpp"

namespace cudart_doctor {

/// The file at `path`, to be executed only. For a child in another root it is a copy in memory that
/// nobody can change: the child is seen by that root's processes, and through /proc/PID/exe they
/// would reach our own file, which root in a container may own. Errors: io, permission.
Result<UniqueFd> open_program(const std::string& path, const ChildRights& rights);

}  // namespace cudart_doctor
