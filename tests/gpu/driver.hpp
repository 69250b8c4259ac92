// The Driver API, opened by name, as launcher and memory for MhcOps: no toolkit, nothing linked.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cudart_doctor/cuda/launcher.hpp"

namespace gpu_test {

using cudart_doctor::CudaStatus;
using cudart_doctor::DevicePointer;

struct Api {
  int (*init)(unsigned);
  int (*device_get)(int*, int);
  int (*device_name)(char*, int, int);
  int (*driver_version)(int*);
  int (*context_retain)(void**, int);
  int (*context_set)(void*);
  int (*context_synchronize)();
  int (*module_load)(void**, const void*);
  int (*module_function)(void**, void*, const char*);
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*,
                void**, void**);
  int (*allocate)(DevicePointer*, std::size_t);
  int (*release)(DevicePointer);
  int (*fill)(DevicePointer, unsigned char, std::size_t);
  int (*upload)(DevicePointer, const void*, std::size_t);
  int (*download)(void*, DevicePointer, std::size_t);
  int (*copy)(DevicePointer, DevicePointer, std::size_t, void*);
  int (*event_create)(void**, unsigned);
  int (*event_record)(void*, void*);
  int (*event_synchronize)(void*);
  int (*event_elapsed)(float*, void*, void*);
};

/// Opens libcuda.so.1, initialises it, makes the first device's primary context current; returns
/// why that is impossible, "" when done.
std::string open_driver(Api& api);

/// Loads an image: a fat binary, or PTX text with a final NUL.
class DriverLauncher : public cudart_doctor::KernelLauncher {
 public:
  DriverLauncher(const Api& api, std::span<const std::byte> image) : api_(api), image_(image) {}
  CudaStatus bind() override;
  CudaStatus launch(std::size_t kernel, const cudart_doctor::LaunchShape& shape,
                    std::span<void*> arguments) override;

 private:
  const Api& api_;
  std::span<const std::byte> image_;
  std::vector<void*> functions_;
};

class DriverMemory : public cudart_doctor::DeviceMemory {
 public:
  explicit DriverMemory(const Api& api) : api_(api) {}
  CudaStatus allocate(std::size_t bytes, DevicePointer& out) override {
    return {api_.allocate(&out, bytes), "cuMemAlloc"};
  }
  CudaStatus release(DevicePointer pointer) override {
    return {api_.release(pointer), "cuMemFree"};
  }
  CudaStatus fill(DevicePointer pointer, std::uint8_t byte, std::size_t bytes) override {
    return {api_.fill(pointer, byte, bytes), "cuMemsetD8"};
  }
  CudaStatus upload(DevicePointer to, std::span<const std::byte> from) override {
    return {api_.upload(to, from.data(), from.size()), "cuMemcpyHtoD"};
  }
  CudaStatus download(std::span<std::byte> to, DevicePointer from) override {
    return {api_.download(to.data(), from, to.size()), "cuMemcpyDtoH"};
  }
  CudaStatus synchronize() override { return {api_.context_synchronize(), "cuCtxSynchronize"}; }

 private:
  const Api& api_;
};

}  // namespace gpu_test
