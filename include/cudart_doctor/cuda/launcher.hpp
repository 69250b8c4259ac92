// The two seams between the mHC operators and CUDA: who launches a kernel, and whose memory it
// works on. A runtime candidate and the Driver API each implement both.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace cudart_doctor {

/// A device address, as CUdeviceptr.
using DevicePointer = std::uint64_t;

/// What a CUDA call answered. Runtime and driver codes share their numbers where both have them.
struct CudaStatus {
  int code = 0;
  std::string_view call = {};  ///< "cudaLaunchKernel"; static text.
  [[nodiscard]] bool ok() const { return code == 0; }
};

struct LaunchShape {
  std::uint32_t blocks = 1;   ///< Grid size in x.
  std::uint32_t threads = 1;  ///< Block size in x.
  std::uint32_t shared_bytes = 0;
};

/// Launches kernels of the embedded image by their index in mhc_kernel_names().
class KernelLauncher {
 public:
  KernelLauncher() = default;
  KernelLauncher(const KernelLauncher&) = delete;
  KernelLauncher& operator=(const KernelLauncher&) = delete;
  virtual ~KernelLauncher() = default;

  /// Registers or loads the image and finds all kernels, on the current device. Called once.
  virtual CudaStatus bind() = 0;
  /// Whether bind() found this kernel; one that is missing leaves the others usable.
  [[nodiscard]] virtual bool has(std::size_t /*kernel*/) const { return true; }
  /// Asynchronous; `arguments` point to each parameter in order.
  virtual CudaStatus launch(std::size_t kernel, const LaunchShape& shape,
                            std::span<void*> arguments) = 0;
};

/// Memory of the current device.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  virtual ~DeviceMemory() = default;

  virtual CudaStatus allocate(std::size_t bytes, DevicePointer& out) = 0;
  virtual CudaStatus release(DevicePointer pointer) = 0;
  virtual CudaStatus fill(DevicePointer pointer, std::uint8_t byte, std::size_t bytes) = 0;
  virtual CudaStatus upload(DevicePointer to, std::span<const std::byte> from) = 0;
  virtual CudaStatus download(std::span<std::byte> to, DevicePointer from) = 0;
  /// Waits for all work of the device; reports what launches did wrong.
  virtual CudaStatus synchronize() = 0;
};

}  // namespace cudart_doctor
