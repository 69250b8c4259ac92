// mhc_post's bandwidth against a device-to-device copy's in the same run, and the other times.
#pragma once

#include "cudart_doctor/cuda/mhc_ops.hpp"
#include "driver.hpp"

namespace gpu_test {

/// Prints; whether mhc_post at T = 2048, H = 7168 reached 0.8 of the copy's bandwidth.
bool bench(const Api& api, cudart_doctor::MhcOps& ops, cudart_doctor::DeviceMemory& memory);

}  // namespace gpu_test
