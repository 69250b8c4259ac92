// The mHC kernels on the CPU, by the arguments of a launch.
#pragma once

#include <string_view>

namespace fake {

/// False for a kernel that is not known.
bool run_kernel(std::string_view name, unsigned blocks, void** arguments);
bool knows_kernel(std::string_view name);

}  // namespace fake
