// Launches and memory through one runtime candidate: it registers the image as a program compiled
// by nvcc would, with the candidate's own hidden functions.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "cudart_doctor/cuda/launcher.hpp"
#include "cudart_doctor/cuda/runtime_api.hpp"

namespace cudart_doctor {

class RuntimeLauncher final : public KernelLauncher {
 public:
  /// `api` must outlive this and be complete.
  explicit RuntimeLauncher(const RuntimeApi& api) : api_(api) {}
  /// Takes the images back from the runtime.
  ~RuntimeLauncher() override;

  /// May be called again, on another device: images are registered once.
  CudaStatus bind() override;
  CudaStatus launch(std::size_t kernel, const LaunchShape& shape,
                    std::span<void*> arguments) override;

  /// "SASS" or "PTX": what runs on the device that was bound last. By cudaFuncGetAttributes: code
  /// that was compiled from the image's PTX has the PTX's own virtual architecture.
  [[nodiscard]] std::string_view image() const { return image_; }

 private:
  /// One image, registered. The runtime keeps addresses of all members.
  struct Registration {
    cuda_abi::FatBinaryWrapper wrapper = {};
    std::vector<char> keys;  ///< One byte for each kernel: its address names the kernel.
    void** handle = nullptr;
  };
  CudaStatus use(Registration& registration, std::span<const std::byte> image);

  const RuntimeApi& api_;
  Registration full_;
  Registration ptx_;
  Registration* active_ = nullptr;
  std::string_view image_;
};

class RuntimeMemory final : public DeviceMemory {
 public:
  /// `api` must outlive this and be complete.
  explicit RuntimeMemory(const RuntimeApi& api) : api_(api) {}

  CudaStatus allocate(std::size_t bytes, DevicePointer& out) override;
  CudaStatus release(DevicePointer pointer) override;
  CudaStatus fill(DevicePointer pointer, std::uint8_t byte, std::size_t bytes) override;
  CudaStatus upload(DevicePointer to, std::span<const std::byte> from) override;
  CudaStatus download(std::span<std::byte> to, DevicePointer from) override;
  CudaStatus synchronize() override;

 private:
  const RuntimeApi& api_;
};

/// The two forms of a device address.
inline void* to_pointer(DevicePointer address) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): CUDA itself uses both forms.
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
}
inline DevicePointer to_address(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

/// Codes that say of an image that it does not suit the driver or the device.
bool refuses_image(int code);

}  // namespace cudart_doctor
