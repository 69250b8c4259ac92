// A process in one number: two with the same one are given to the rules once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/sys/proc_root.hpp"

namespace cudart_doctor {

struct LikenessMaps {
  std::string_view text;                  ///< The whole of maps.
  std::vector<std::string_view> ordered;  ///< Paths of what concerns CUDA, by address.
};

/// Of everything that a report of the process would be made of and that differs between processes:
/// its mapped files (those of CUDA in the order of addresses, but no address), program, arguments,
/// environment, rights, namespaces, folders, and the loader's list in load order. "" where one of
/// them could not be read: then it is like no other. `salt` is one of a run, so that nobody can aim
/// at a number. What a process's slots point into is not among it (docs/tree.md).
std::string likeness_of(const ProcDirectory& process, std::int64_t callable_pid,
                        const LikenessMaps& maps, std::uint64_t salt);

}  // namespace cudart_doctor
