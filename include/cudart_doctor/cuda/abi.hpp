// Our own declarations of what crosses the border to CUDA: no toolkit is needed to build. Checked
// against the real headers by tests/probe/declarations_test.cpp where these are installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cudart_doctor::cuda_abi {

inline constexpr std::size_t kIpcHandleBytes = 64;

/// cudaIpcMemHandle_t, cudaIpcEventHandle_t, CUipcMemHandle, CUmemFabricHandle: passed by value.
struct IpcHandle {
  char bytes[kIpcHandleBytes];
};

/// dim3
struct Dim3 {
  std::uint32_t x, y, z;
};

/// cudaFuncAttributes as of 11.0; later releases appended to it, hence the room.
struct FuncAttributes {
  std::size_t shared_bytes, constant_bytes, local_bytes;
  int max_threads_per_block, registers, ptx_version, binary_version;
  char room[256];
};

/// CUuuid
struct Uuid {
  unsigned char bytes[16];
};

/// CUmemLocation
struct MemLocation {
  int type, id;
};

/// CUmemAllocationProp
struct MemAllocationProp {
  int type;
  int requested_handle_types;
  MemLocation location;
  void* win32_handle_meta_data;
  struct {
    unsigned char compression_type, gpu_direct_rdma_capable;
    unsigned short usage;
    unsigned char reserved[4];
  } flags;
};

/// CUmemAccessDesc
struct MemAccessDesc {
  MemLocation location;
  int flags;
};

/// What the hidden registration functions take: the image with its own small header.
struct FatBinaryWrapper {
  int magic, version;
  const void* image;
  void* unused;
};
inline constexpr int kFatBinaryMagic = 0x466243b1;
inline constexpr int kFatBinaryVersion = 1;

inline constexpr int kMemcpyHostToDevice = 1;
inline constexpr int kMemcpyDeviceToHost = 2;
inline constexpr unsigned kIpcMemLazyEnablePeerAccess = 1;
inline constexpr unsigned kEventDisableTiming = 2;
inline constexpr unsigned kEventInterprocess = 4;

inline constexpr int kAttributeCapabilityMajor = 75;
inline constexpr int kAttributeCapabilityMinor = 76;
inline constexpr int kAttributeVirtualMemory = 102;
inline constexpr int kAttributePosixDescriptor = 103;
inline constexpr int kAttributeFabric = 128;
inline constexpr int kAttributeMulticast = 132;

inline constexpr int kMemAllocationPinned = 1;
inline constexpr int kMemLocationDevice = 1;
inline constexpr int kMemHandlePosixDescriptor = 1;
inline constexpr int kMemHandleFabric = 8;
inline constexpr int kMemAccessReadWrite = 3;
inline constexpr int kGranularityMinimum = 0;
inline constexpr int kJitErrorLogBuffer = 5;
inline constexpr int kJitErrorLogBufferBytes = 6;

}  // namespace cudart_doctor::cuda_abi
