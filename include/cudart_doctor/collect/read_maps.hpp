// /proc/PID/maps, read whole and consistent, and the file objects that it names.
#pragma once

#include <vector>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/model/snapshot.hpp"
#include "cudart_doctor/sys/proc_root.hpp"

namespace cudart_doctor {

struct MapsLook {
  MapsTable table;
  std::uint32_t reads = 0;
  bool consistent = true;  ///< false: it changed during each of kMaxMapsReads reads.
};

inline constexpr std::uint32_t kMaxMapsReads = 5;

/// The kernel hands maps out page by page and drops its lock in between: the text is read again
/// when addresses go backwards in it or the process's size (statm) changed across the read.
/// Errors: permission (names what is needed), gone, limit. `threads` is 1 or 2: a second one parses
/// what was read of a long text while the kernel writes the rest.
Result<MapsLook> read_maps(const ProcDirectory& process, unsigned threads);

/// One object per device and inode, ascending by lowest address. Paths are as maps shows them, the
/// deleted mark still on. Pure.
std::vector<LoadedObject> group_objects(const MapsTable& maps);

}  // namespace cudart_doctor
