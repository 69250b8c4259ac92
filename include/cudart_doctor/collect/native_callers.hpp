// The names of the functions that asked for a load: the recorder sends places in objects only.
#pragma once

#include <cstddef>

#include "cudart_doctor/model/recording.hpp"
#include "cudart_doctor/sys/target_files.hpp"

namespace cudart_doctor {

/// Files that are opened for one recording; callers in further ones keep no name.
inline constexpr std::size_t kMostCallerFiles = 256;

/// Fills NativeCaller::symbol wherever the object's path leads to a file that exports the function.
/// Everything else stays as it is: a name is a help, not evidence.
void name_callers(Recording& recording, const TargetFiles& files);

}  // namespace cudart_doctor
