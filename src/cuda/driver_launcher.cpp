// Modules, launches and memory of the Driver API.
#include "cudart_doctor/cuda/driver_launcher.hpp"

#include <array>

#include "cudart_doctor/cuda/mhc_ops.hpp"
#include "cudart_doctor/cuda/runtime_launcher.hpp"

namespace cudart_doctor {

DriverLauncher::~DriverLauncher() {
  if (module_ != nullptr) (void)api_.module_unload(module_);
}

CudaStatus DriverLauncher::load_ptx() {
  std::array<char, 2048> log = {};
  // Options are pointers or, for numbers, the number in a pointer's place.
  std::array<int, 2> names = {cuda_abi::kJitErrorLogBuffer, cuda_abi::kJitErrorLogBufferBytes};
  std::array<void*, 2> values = {log.data(), to_pointer(log.size() - 1)};
  const int code = api_.module_load_data_ex(&module_, mhc_ptx().data(),
                                            static_cast<unsigned>(names.size()), names.data(),
                                            values.data());
  jit_log_ = log.data();
  return {code, "cuModuleLoadDataEx"};
}

CudaStatus DriverLauncher::load() {
  if (wanted_ == DriverImage::ptx_text) return load_ptx();
  const CudaStatus status = {api_.module_load_data(&module_, mhc_fat_binary().data()),
                             "cuModuleLoadData"};
  if (status.ok() || !refuses_image(status.code)) return status;
  const int second = api_.module_load_data(&module_, mhc_ptx_fat_binary().data());
  return second == 0 ? CudaStatus{0, "cuModuleLoadData"} : status;
}

CudaStatus DriverLauncher::bind() {
  if (const CudaStatus status = load(); !status.ok()) {
    module_ = nullptr;
    return status;
  }
  for (const char* name : mhc_kernel_names()) {
    void* function = nullptr;
    if (const int code = api_.module_get_function(&function, module_, name); code != 0) {
      return {code, "cuModuleGetFunction"};
    }
    functions_.push_back(function);
  }
  return {};
}

CudaStatus DriverLauncher::launch(std::size_t kernel, const LaunchShape& shape,
                                  std::span<void*> arguments) {
  if (kernel >= functions_.size()) return {98, "cuLaunchKernel"};
  return {api_.launch_kernel(functions_[kernel], shape.blocks, 1, 1, shape.threads, 1, 1,
                             shape.shared_bytes, nullptr, arguments.data(), nullptr),
          "cuLaunchKernel"};
}

CudaStatus DriverMemory::allocate(std::size_t bytes, DevicePointer& out) {
  return {api_.mem_alloc(&out, bytes), "cuMemAlloc"};
}

CudaStatus DriverMemory::release(DevicePointer pointer) {
  return {api_.mem_free(pointer), "cuMemFree"};
}

CudaStatus DriverMemory::fill(DevicePointer pointer, std::uint8_t byte, std::size_t bytes) {
  return {api_.memset_d8(pointer, byte, bytes), "cuMemsetD8"};
}

CudaStatus DriverMemory::upload(DevicePointer to, std::span<const std::byte> from) {
  return {api_.memcpy_htod(to, from.data(), from.size()), "cuMemcpyHtoD"};
}

CudaStatus DriverMemory::download(std::span<std::byte> to, DevicePointer from) {
  return {api_.memcpy_dtoh(to.data(), from, to.size()), "cuMemcpyDtoH"};
}

CudaStatus DriverMemory::synchronize() { return {api_.ctx_synchronize(), "cuCtxSynchronize"}; }

}  // namespace cudart_doctor
