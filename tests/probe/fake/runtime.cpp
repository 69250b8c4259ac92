// A libcudart without a GPU: what the probe and consumers bind, over the libcuda.so.1 that the
// loader finds, opened at the first call as the genuine ones do.
#include <dlfcn.h>

#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "cudart_doctor/cuda/abi.hpp"
#include "faults.hpp"

namespace {

using namespace cudart_doctor::cuda_abi;

constexpr int kInsufficientDriver = 35;
constexpr std::uint64_t kWithSass = 512u << 10;

void* driver() {
  static void* const handle = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return handle;
}

/// Calls a function of the driver; 35 where there is no driver.
template <typename... Arguments>
int call(const char* name, Arguments... arguments) {
  if (driver() == nullptr) return kInsufficientDriver;
  using Function = int (*)(Arguments...);
  const auto function = reinterpret_cast<Function>(::dlsym(driver(), name));
  return function != nullptr ? function(arguments...) : 36;
}

std::uint64_t address(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

struct Registered {
  std::string name;
  bool with_sass = false;
};

std::map<const void*, Registered>& functions() {
  static std::map<const void*, Registered> all;
  return all;
}

/// The size of a fat binary stands behind its magic number and version.
bool has_sass(void** handle) {
  const auto* const wrapper = reinterpret_cast<const FatBinaryWrapper*>(handle);
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, static_cast<const char*>(wrapper->image) + 8, sizeof bytes);
  return bytes > kWithSass;
}

int last_error = 0;

}  // namespace

FAKE_EXPORT int cudaRuntimeGetVersion(int* version) {
  FAKE_FAULT("cudaRuntimeGetVersion");
  *version = fake::number("version", 13000);
  return 0;
}
FAKE_EXPORT int cudaDriverGetVersion(int* version) {
  FAKE_FAULT("cudaDriverGetVersion");
  // Without a driver: success, and 0.
  if (call("cuDriverGetVersion", version) == kInsufficientDriver) *version = 0;
  return 0;
}
FAKE_EXPORT int cudaGetDeviceCount(int* count) {
  FAKE_FAULT("cudaGetDeviceCount");
  if (const int code = call("cuInit", 0U)) return code;
  return call("cuDeviceGetCount", count);
}
FAKE_EXPORT int cudaSetDevice(int device) {
  FAKE_FAULT("cudaSetDevice");
  return call("fakeSetDevice", device);
}
FAKE_EXPORT int cudaGetLastError() {
  FAKE_FAULT("cudaGetLastError");
  return std::exchange(last_error, 0);
}
FAKE_EXPORT const char* cudaGetErrorString(int) { return "fake error"; }
FAKE_EXPORT int cudaDeviceReset() {
  // The probe shares a process with other candidates: calling this is a mistake.
  std::abort();
}
FAKE_EXPORT int cudaDeviceSynchronize() {
  FAKE_FAULT("cudaDeviceSynchronize");
  return call("cuCtxSynchronize");
}
FAKE_EXPORT int cudaMalloc(void** out, std::size_t bytes) {
  FAKE_FAULT("cudaMalloc");
  return call("cuMemAlloc_v2", out, bytes);
}
FAKE_EXPORT int cudaFree(void* memory) {
  FAKE_FAULT("cudaFree");
  return memory == nullptr ? 0 : call("cuMemFree_v2", address(memory));
}
FAKE_EXPORT int cudaMallocAsync(void** out, std::size_t bytes, void* stream) {
  FAKE_FAULT("cudaMallocAsync");
  return call("cuMemAllocAsync", out, bytes, stream);
}
FAKE_EXPORT int cudaFreeAsync(void* memory, void* stream) {
  FAKE_FAULT("cudaFreeAsync");
  return call("cuMemFreeAsync", address(memory), stream);
}
FAKE_EXPORT int cudaMemset(void* to, int byte, std::size_t bytes) {
  FAKE_FAULT("cudaMemset");
  return call("cuMemsetD8_v2", address(to), static_cast<unsigned char>(byte), bytes);
}
FAKE_EXPORT int cudaMemsetAsync(void* to, int byte, std::size_t bytes, void*) {
  FAKE_FAULT("cudaMemsetAsync");
  return call("cuMemsetD8_v2", address(to), static_cast<unsigned char>(byte), bytes);
}
FAKE_EXPORT int cudaMemcpy(void* to, const void* from, std::size_t bytes, int kind) {
  FAKE_FAULT("cudaMemcpy");
  if (kind == kMemcpyHostToDevice) return call("cuMemcpyHtoD_v2", address(to), from, bytes);
  if (kind == kMemcpyDeviceToHost) return call("cuMemcpyDtoH_v2", to, address(from), bytes);
  return 21;
}
FAKE_EXPORT int cudaMemcpyPeer(void* to, int, const void* from, int, std::size_t bytes) {
  FAKE_FAULT("cudaMemcpyPeer");
  return call("cuMemcpyHtoD_v2", address(to), from, bytes);
}
FAKE_EXPORT int cudaMemGetInfo(std::size_t* free_bytes, std::size_t* total) {
  FAKE_FAULT("cudaMemGetInfo");
  *free_bytes = std::size_t{1} << 33;
  *total = std::size_t{1} << 34;
  return 0;
}
FAKE_EXPORT int cudaDeviceCanAccessPeer(int* can, int, int) {
  FAKE_FAULT("cudaDeviceCanAccessPeer");
  *can = 1;
  return 0;
}
FAKE_EXPORT int cudaFuncGetAttributes(FuncAttributes* out, const void* key) {
  FAKE_FAULT("cudaFuncGetAttributes");
  const auto at = functions().find(key);
  if (at == functions().end()) return last_error = 98;
  if (at->second.with_sass && fake::has("nosass")) return last_error = 209;
  // The room behind is not touched: an older runtime knows less of it.
  out->binary_version = 90;
  out->ptx_version = at->second.with_sass ? 90 : 70;
  return 0;
}
FAKE_EXPORT int cudaLaunchKernel(const void* key, Dim3 grid, Dim3 block, void** arguments,
                                 std::size_t shared_bytes, void* stream) {
  FAKE_FAULT("cudaLaunchKernel");
  const auto at = functions().find(key);
  if (at == functions().end()) return 98;
  void* function = nullptr;
  if (const int code = call("cuModuleGetFunction", &function, static_cast<void*>(nullptr),
                            at->second.name.c_str())) {
    return code;
  }
  return call("cuLaunchKernel", function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
              static_cast<unsigned>(shared_bytes), stream, arguments, static_cast<void**>(nullptr));
}
FAKE_EXPORT int cudaIpcGetMemHandle(IpcHandle* out, void* memory) {
  FAKE_FAULT("cudaIpcGetMemHandle");
  return call("cuIpcGetMemHandle", out, address(memory));
}
FAKE_EXPORT int cudaIpcOpenMemHandle(void** out, IpcHandle handle, unsigned flags) {
  FAKE_FAULT("cudaIpcOpenMemHandle");
  return flags == 1 ? call("cuIpcOpenMemHandle_v2", out, handle, flags) : 1;
}
FAKE_EXPORT int cudaIpcCloseMemHandle(void* memory) {
  FAKE_FAULT("cudaIpcCloseMemHandle");
  return call("cuIpcCloseMemHandle", address(memory));
}
FAKE_EXPORT int cudaIpcGetEventHandle(IpcHandle* out, void* event) {
  FAKE_FAULT("cudaIpcGetEventHandle");
  return call("cuIpcGetEventHandle", out, event);
}
FAKE_EXPORT int cudaIpcOpenEventHandle(void** out, IpcHandle handle) {
  FAKE_FAULT("cudaIpcOpenEventHandle");
  return call("cuIpcOpenEventHandle", out, handle);
}
FAKE_EXPORT int cudaEventCreateWithFlags(void** out, unsigned flags) {
  FAKE_FAULT("cudaEventCreateWithFlags");
  // An event between processes cannot take times.
  return flags == (kEventInterprocess | kEventDisableTiming) ? call("cuEventCreate", out, flags)
                                                             : 1;
}
FAKE_EXPORT int cudaEventRecord(void* event, void* stream) {
  FAKE_FAULT("cudaEventRecord");
  return call("cuEventRecord", event, stream);
}
FAKE_EXPORT int cudaEventSynchronize(void* event) {
  FAKE_FAULT("cudaEventSynchronize");
  return call("cuEventSynchronize", event);
}
FAKE_EXPORT int cudaEventDestroy(void* event) {
  FAKE_FAULT("cudaEventDestroy");
  return call("cuEventDestroy_v2", event);
}
FAKE_EXPORT int cudaStreamWaitEvent(void* stream, void* event, unsigned flags) {
  FAKE_FAULT("cudaStreamWaitEvent");
  return call("cuStreamWaitEvent", stream, event, flags);
}
FAKE_EXPORT void** __cudaRegisterFatBinary(void* wrapper) {
  fake::fault("__cudaRegisterFatBinary");
  return static_cast<void**>(wrapper);
}
FAKE_EXPORT void __cudaRegisterFunction(void** handle, const char* key, char*, const char* name,
                                        int, void*, void*, void*, void*, int*) {
  fake::fault("__cudaRegisterFunction");
  functions()[key] = {name, has_sass(handle)};
}
FAKE_EXPORT void __cudaRegisterFatBinaryEnd(void**) {}
FAKE_EXPORT void __cudaUnregisterFatBinary(void**) {
  fake::fault("__cudaUnregisterFatBinary");
  functions().clear();
}
