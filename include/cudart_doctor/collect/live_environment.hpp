// The environment of a process: as of exec, or, where a process title was written over it, the live
// one behind the variable `environ`.
#pragma once

#include <vector>

#include "cudart_doctor/base/byte_source.hpp"
#include "cudart_doctor/base/fact.hpp"
#include "cudart_doctor/collect/link_map.hpp"
#include "cudart_doctor/model/snapshot.hpp"
#include "cudart_doctor/sys/proc_root.hpp"

namespace cudart_doctor {

/// `look` may be nullptr where the link map is unknown: then an overwritten environment is unknown.
Fact<Environment> read_environment(const ProcDirectory& process, ByteSource& memory,
                                   const LinkMapLook* look);

/// The live environment through the first `environ` that the base namespace defines, as the loader
/// would bind it (an executable's copy relocation wins over libc). Caps: 65,536 variables, 2 MiB.
Result<Environment> read_live_environment(ByteSource& memory, const LinkMapLook& look);

}  // namespace cudart_doctor
