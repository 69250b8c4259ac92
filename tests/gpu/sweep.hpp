// All operators over many shapes on a GPU, against the fp64 reference.
#pragma once

#include "cudart_doctor/cuda/mhc_ops.hpp"

namespace gpu_test {

/// Prints a table of the largest errors; whether all passed.
bool sweep(cudart_doctor::MhcOps& ops, cudart_doctor::DeviceMemory& memory);

}  // namespace gpu_test
