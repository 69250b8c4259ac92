// The part of NVML that is asked, declared by ourselves: the library is opened when it is there and
// no header of it is needed to build. A test compares with the real header where there is one.
#pragma once

namespace cudart_doctor::nvml {

using Device = void*;  ///< nvmlDevice_t: an opaque pointer.

inline constexpr int kSuccess = 0;
inline constexpr int kNotSupported = 3;
inline constexpr int kInsufficientSize = 7;

inline constexpr unsigned kComputeDefault = 0;
inline constexpr unsigned kComputeExclusiveThread = 1;
inline constexpr unsigned kComputeProhibited = 2;
inline constexpr unsigned kComputeExclusiveProcess = 3;

inline constexpr unsigned kTextSize = 96;  ///< NVML_DEVICE_UUID_V2_BUFFER_SIZE, ..._NAME_V2_...

/// nvmlMemory_t. `used` counts what the driver keeps for itself.
struct Memory {
  unsigned long long total = 0;
  unsigned long long free = 0;
  unsigned long long used = 0;
};

/// nvmlMemory_v2_t: driver 510 and later.
struct MemoryV2 {
  unsigned version = 0;
  unsigned long long total = 0;
  unsigned long long reserved = 0;
  unsigned long long free = 0;
  unsigned long long used = 0;
};
/// What NVML wants in `version`: the size, and the number in the highest byte.
inline constexpr unsigned kMemoryV2 = static_cast<unsigned>(sizeof(MemoryV2)) | (2U << 24U);

/// nvmlProcessInfo_v1_t
struct ProcessV1 {
  unsigned pid = 0;
  unsigned long long used_memory = 0;
};

/// nvmlProcessInfo_v2_t; functions of the third version take it too.
struct ProcessV2 {
  unsigned pid = 0;
  unsigned long long used_memory = 0;
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
};

using Init = int (*)();
using ErrorString = const char* (*)(int);
using GetCount = int (*)(unsigned*);
using GetHandle = int (*)(unsigned, Device*);
using GetText = int (*)(Device, char*, unsigned);
using GetNumber = int (*)(Device, unsigned*);
using GetMemory = int (*)(Device, Memory*);
using GetMemoryV2 = int (*)(Device, MemoryV2*);
using GetProcessesV1 = int (*)(Device, unsigned*, ProcessV1*);
using GetProcessesV2 = int (*)(Device, unsigned*, ProcessV2*);

}  // namespace cudart_doctor::nvml
