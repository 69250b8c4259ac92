// Launches and memory through the Driver API, on the context that is current: the control that
// tells a candidate's fault from the driver's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cudart_doctor/cuda/driver_api.hpp"
#include "cudart_doctor/cuda/launcher.hpp"

namespace cudart_doctor {

enum class DriverImage : std::uint8_t {
  fat_binary,  ///< What a runtime would get; the PTX alone where that is refused.
  ptx_text,    ///< For the driver's JIT compiler.
};

class DriverLauncher final : public KernelLauncher {
 public:
  /// `api` must outlive this.
  DriverLauncher(const DriverApi& api, DriverImage image) : api_(api), wanted_(image) {}
  ~DriverLauncher() override;

  CudaStatus bind() override;
  CudaStatus launch(std::size_t kernel, const LaunchShape& shape,
                    std::span<void*> arguments) override;

  /// What the JIT compiler said, as bytes; "" when it had nothing to say.
  [[nodiscard]] const std::string& jit_log() const { return jit_log_; }

 private:
  CudaStatus load();
  CudaStatus load_ptx();

  const DriverApi& api_;
  DriverImage wanted_;
  void* module_ = nullptr;
  std::vector<void*> functions_;
  std::string jit_log_;
};

class DriverMemory final : public DeviceMemory {
 public:
  /// `api` must outlive this.
  explicit DriverMemory(const DriverApi& api) : api_(api) {}

  CudaStatus allocate(std::size_t bytes, DevicePointer& out) override;
  CudaStatus release(DevicePointer pointer) override;
  CudaStatus fill(DevicePointer pointer, std::uint8_t byte, std::size_t bytes) override;
  CudaStatus upload(DevicePointer to, std::span<const std::byte> from) override;
  CudaStatus download(std::span<std::byte> to, DevicePointer from) override;
  CudaStatus synchronize() override;

 private:
  const DriverApi& api_;
};

}  // namespace cudart_doctor
