// The kernels' own source, launched on host threads, and host memory in the place of a device's:
// everything but the hardware, without a GPU.
#pragma once

#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <span>

#include "cudart_doctor/cuda/launcher.hpp"

namespace cudart_doctor {

/// The kernels' own rounding.
unsigned kernel_round_to_bf16(float value);

class ThreadLauncher : public KernelLauncher {
 public:
  CudaStatus bind() override;
  CudaStatus launch(std::size_t kernel, const LaunchShape& shape,
                    std::span<void*> arguments) override;

  std::atomic<int> binds = 0;
  std::atomic<int> launches = 0;
};

/// Counts what was not freed.
class HostMemory : public DeviceMemory {
 public:
  CudaStatus allocate(std::size_t bytes, DevicePointer& out) override;
  CudaStatus release(DevicePointer pointer) override;
  CudaStatus fill(DevicePointer pointer, std::uint8_t byte, std::size_t bytes) override;
  CudaStatus upload(DevicePointer to, std::span<const std::byte> from) override;
  CudaStatus download(std::span<std::byte> to, DevicePointer from) override;
  CudaStatus synchronize() override { return {}; }
  [[nodiscard]] std::size_t held() const { return blocks_.size(); }

 private:
  std::map<DevicePointer, std::unique_ptr<std::byte[]>> blocks_;
};

}  // namespace cudart_doctor
