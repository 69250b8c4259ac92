// Our declarations of NVML against the real header, where this machine has one.
#include <nvml.h>

#include <cstddef>
#include <type_traits>

#include "probe/nvml_api.hpp"
#include "support/catch.hpp"

namespace ours = cudart_doctor::nvml;

TEST_CASE("structures have the layout of NVML's") {
  CHECK(sizeof(ours::Memory) == sizeof(nvmlMemory_t));
  CHECK(offsetof(ours::Memory, used) == offsetof(nvmlMemory_t, used));
  CHECK(sizeof(ours::MemoryV2) == sizeof(nvmlMemory_v2_t));
  CHECK(offsetof(ours::MemoryV2, free) == offsetof(nvmlMemory_v2_t, free));
  CHECK(offsetof(ours::MemoryV2, used) == offsetof(nvmlMemory_v2_t, used));
  CHECK(ours::kMemoryV2 == nvmlMemory_v2);
  CHECK(sizeof(ours::ProcessV1) == sizeof(nvmlProcessInfo_v1_t));
  CHECK(sizeof(ours::ProcessV2) == sizeof(nvmlProcessInfo_v2_t));
  CHECK(offsetof(ours::ProcessV2, compute_instance) ==
        offsetof(nvmlProcessInfo_v2_t, computeInstanceId));
}

TEST_CASE("numbers are NVML's") {
  CHECK(ours::kSuccess == NVML_SUCCESS);
  CHECK(ours::kNotSupported == NVML_ERROR_NOT_SUPPORTED);
  CHECK(ours::kInsufficientSize == NVML_ERROR_INSUFFICIENT_SIZE);
  CHECK(ours::kComputeDefault == NVML_COMPUTEMODE_DEFAULT);
  CHECK(ours::kComputeExclusiveThread == NVML_COMPUTEMODE_EXCLUSIVE_THREAD);
  CHECK(ours::kComputeProhibited == NVML_COMPUTEMODE_PROHIBITED);
  CHECK(ours::kComputeExclusiveProcess == NVML_COMPUTEMODE_EXCLUSIVE_PROCESS);
  CHECK(ours::kTextSize >= NVML_DEVICE_UUID_V2_BUFFER_SIZE);
}
