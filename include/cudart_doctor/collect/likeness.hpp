// A process in one number: two with the same one are given to the rules once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cudart_doctor/sys/proc_root.hpp"

namespace cudart_doctor {

/// Of everything that a report of the process would be made of and that differs between processes:
/// its mapped files in the order of addresses (but no address), program, arguments, environment,
/// rights, namespaces, folders, and the loader's list in load order. "" where one of them could not
/// be read: then it is like no other. `salt` is one of a run, so that nobody can aim at a number.
/// What a process's slots point into is not among it (docs/tree.md).
std::string likeness_of(const ProcDirectory& process, std::int64_t callable_pid,
                        std::string_view maps, std::uint64_t salt);

}  // namespace cudart_doctor
