#include "driver.hpp"

#include <dlfcn.h>

#include <cstdio>

#include "cudart_doctor/cuda/mhc_ops.hpp"

namespace gpu_test {
namespace {

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

bool find_all(void* library, Api& api) {
  return find(library, "cuInit", api.init) && find(library, "cuDeviceGet", api.device_get) &&
         find(library, "cuDeviceGetName", api.device_name) &&
         find(library, "cuDriverGetVersion", api.driver_version) &&
         find(library, "cuDevicePrimaryCtxRetain", api.context_retain) &&
         find(library, "cuCtxSetCurrent", api.context_set) &&
         find(library, "cuCtxSynchronize", api.context_synchronize) &&
         find(library, "cuModuleLoadData", api.module_load) &&
         find(library, "cuModuleGetFunction", api.module_function) &&
         find(library, "cuLaunchKernel", api.launch) &&
         find(library, "cuMemAlloc_v2", api.allocate) &&
         find(library, "cuMemFree_v2", api.release) && find(library, "cuMemsetD8_v2", api.fill) &&
         find(library, "cuMemcpyHtoD_v2", api.upload) &&
         find(library, "cuMemcpyDtoH_v2", api.download) &&
         find(library, "cuMemcpyDtoDAsync_v2", api.copy) &&
         find(library, "cuEventCreate", api.event_create) &&
         find(library, "cuEventRecord", api.event_record) &&
         find(library, "cuEventSynchronize", api.event_synchronize) &&
         find(library, "cuEventElapsedTime", api.event_elapsed);
}

}  // namespace

std::string open_driver(Api& api) {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return dlerror();
  if (!find_all(library, api)) return "libcuda.so.1 lacks a function";
  if (const int code = api.init(0); code != 0) return "cuInit: " + std::to_string(code);
  int device = 0;
  void* context = nullptr;
  int version = 0;
  char name[256] = {};
  if (const int code = api.device_get(&device, 0); code != 0)
    return "cuDeviceGet: " + std::to_string(code);
  if (const int code = api.context_retain(&context, device); code != 0)
    return "cuDevicePrimaryCtxRetain: " + std::to_string(code);
  if (const int code = api.context_set(context); code != 0)
    return "cuCtxSetCurrent: " + std::to_string(code);
  api.device_name(name, sizeof name, device);
  api.driver_version(&version);
  std::printf("%s, driver API %d\n", name, version);
  return "";
}

CudaStatus DriverLauncher::bind() {
  void* module = nullptr;
  if (const int code = api_.module_load(&module, image_.data()); code != 0)
    return {code, "cuModuleLoadData"};
  for (const char* name : cudart_doctor::mhc_kernel_names()) {
    void* function = nullptr;
    if (const int code = api_.module_function(&function, module, name); code != 0)
      return {code, "cuModuleGetFunction"};
    functions_.push_back(function);
  }
  return {};
}

CudaStatus DriverLauncher::launch(std::size_t kernel, const cudart_doctor::LaunchShape& shape,
                                  std::span<void*> arguments) {
  return {api_.launch(functions_[kernel], shape.blocks, 1, 1, shape.threads, 1, 1,
                      shape.shared_bytes, nullptr, arguments.data(), nullptr),
          "cuLaunchKernel"};
}

}  // namespace gpu_test
