// What /proc tells `run` of the processes of its command: cheap looks, many of them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cudart_doctor/app/launch_book.hpp"
#include "cudart_doctor/sys/proc_root.hpp"
#include "cudart_doctor/sys/process_tree.hpp"

namespace cudart_doctor {

/// Of a process that is gone, or that has ended and was not waited for, as much as is left.
SeenProcess look_at(const ProcDirectory& proc, std::int64_t pid);

struct MapsLook {
  bool readable = false;
  bool recorder = false;  ///< The recorder's library is mapped.
  bool family = false;    ///< Something of the CUDA family by name is.
  bool text = false;      ///< A path holds the text.
};

struct MapsQuestion {
  std::string recorder;  ///< Path of the recorder's library; "": there is none.
  std::string text;      ///< "": not asked.
};

MapsLook look_into_maps(const ProcDirectory& proc, std::int64_t pid, const MapsQuestion& question);
/// The same of the text of maps. Pure.
MapsLook find_in_maps(std::string_view maps, const MapsQuestion& question);

/// False where the process, as its rights, its root and the folders are now, could not open `path`
/// of the caller's file system; true where that cannot be told.
bool can_reach(const ProcDirectory& proc, std::int64_t pid, const std::string& path);

/// True where one of `processes` holds a socket that listens on TCP `port` in its own network
/// namespace.
bool one_listens(const ProcDirectory& proc, const std::vector<TreeProcess>& processes,
                 std::uint16_t port);

/// True where `ancestor` is among the parents of `pid`.
bool is_below(const ProcDirectory& proc, std::int64_t pid, std::int64_t ancestor);

}  // namespace cudart_doctor
