// __cudaRegisterFatBinary and its kin, in the order in which nvcc's code calls them.
#include "cudart_doctor/cuda/runtime_launcher.hpp"

#include "cudart_doctor/cuda/mhc_ops.hpp"

namespace cudart_doctor {
namespace {

/// The virtual architecture of the PTX in the images; no SASS in them is built from it.
constexpr int kPtxArchitecture = 70;

}  // namespace

bool refuses_image(int code) {
  switch (code) {
    case 200:  // invalid kernel image
    case 209:  // no kernel image for the device
    case 218:  // invalid PTX
    case 222:  // PTX newer than the driver
    case 300:  // invalid source
    case 301:  // file not found
    case 98:   // invalid device function: registered, found in no image
    case 500:  // symbol not found
      return true;
    default: return false;
  }
}

RuntimeLauncher::~RuntimeLauncher() {
  for (Registration* registration : {&ptx_, &full_}) {
    if (registration->handle != nullptr) api_.unregister_fat_binary(registration->handle);
  }
}

CudaStatus RuntimeLauncher::use(Registration& registration, std::span<const std::byte> image) {
  const auto names = mhc_kernel_names();
  if (registration.handle == nullptr) {
    registration.wrapper = {.magic = cuda_abi::kFatBinaryMagic,
                            .version = cuda_abi::kFatBinaryVersion,
                            .image = image.data(),
                            .unused = nullptr};
    registration.keys.resize(names.size());
    registration.handle = api_.register_fat_binary(&registration.wrapper);
    if (registration.handle == nullptr) return {200, "__cudaRegisterFatBinary"};
    for (std::size_t i = 0; i < names.size(); ++i) {
      // -1: no limit of threads is stated. The name is not written to.
      api_.register_function(registration.handle, &registration.keys[i],
                             const_cast<char*>(names[i]), names[i], -1, nullptr, nullptr, nullptr,
                             nullptr, nullptr);
    }
    if (api_.register_fat_binary_end != nullptr) api_.register_fat_binary_end(registration.handle);
  }
  cuda_abi::FuncAttributes attributes = {};
  for (const char& key : registration.keys) {
    // Loads the image on this device, so that a refusal shows here and not at a launch.
    if (const int code = api_.func_get_attributes(&attributes, &key); code != 0) {
      return {code, "cudaFuncGetAttributes"};
    }
  }
  image_ = attributes.ptx_version == kPtxArchitecture ? "PTX" : "SASS";
  active_ = &registration;
  return {};
}

CudaStatus RuntimeLauncher::bind() {
  CudaStatus status = use(full_, mhc_fat_binary());
  if (status.ok() || !refuses_image(status.code)) return status;
  (void)api_.get_last_error();
  const CudaStatus second = use(ptx_, mhc_ptx_fat_binary());
  // The first refusal is the one that says what is wrong.
  return second.ok() ? second : status;
}

CudaStatus RuntimeLauncher::launch(std::size_t kernel, const LaunchShape& shape,
                                   std::span<void*> arguments) {
  if (active_ == nullptr || kernel >= active_->keys.size()) return {98, "cudaLaunchKernel"};
  return {api_.launch_kernel(&active_->keys[kernel], {shape.blocks, 1, 1}, {shape.threads, 1, 1},
                             arguments.data(), shape.shared_bytes, nullptr),
          "cudaLaunchKernel"};
}

CudaStatus RuntimeMemory::allocate(std::size_t bytes, DevicePointer& out) {
  void* pointer = nullptr;
  const int code = api_.malloc(&pointer, bytes);
  out = to_address(pointer);
  return {code, "cudaMalloc"};
}

CudaStatus RuntimeMemory::release(DevicePointer pointer) {
  return {api_.free(to_pointer(pointer)), "cudaFree"};
}

CudaStatus RuntimeMemory::fill(DevicePointer pointer, std::uint8_t byte, std::size_t bytes) {
  return {api_.memset(to_pointer(pointer), byte, bytes), "cudaMemset"};
}

CudaStatus RuntimeMemory::upload(DevicePointer to, std::span<const std::byte> from) {
  return {api_.memcpy(to_pointer(to), from.data(), from.size(), cuda_abi::kMemcpyHostToDevice),
          "cudaMemcpy"};
}

CudaStatus RuntimeMemory::download(std::span<std::byte> to, DevicePointer from) {
  return {api_.memcpy(to.data(), to_pointer(from), to.size(), cuda_abi::kMemcpyDeviceToHost),
          "cudaMemcpy"};
}

CudaStatus RuntimeMemory::synchronize() {
  return {api_.device_synchronize(), "cudaDeviceSynchronize"};
}

}  // namespace cudart_doctor
