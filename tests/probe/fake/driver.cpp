// A libcuda.so.1 without a GPU: the functions that the probe and the fake runtime call. Work is
// done at once, on the CPU. Codes are CUDA's.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <map>
#include <string>

#include "cudart_doctor/cuda/abi.hpp"
#include "device_memory.hpp"
#include "faults.hpp"
#include "kernels.hpp"

namespace {

using namespace cudart_doctor::cuda_abi;
using DevicePointer = std::uint64_t;

constexpr std::size_t kGranularity = 2u << 20;

int current_device = 0;

/// One word, shared like memory.
struct Event {
  DevicePointer word = 0;
  bool imported = false;
};

struct Function {
  std::string name;
};

int device_count() { return fake::number("devices", 1); }

std::map<std::uint64_t, int>& physical() {
  static std::map<std::uint64_t, int> all;
  return all;
}

std::uint64_t keep_physical(int descriptor) {
  static std::uint64_t next = 0;
  physical()[++next] = descriptor;
  return next;
}

void* pointer(DevicePointer address) { return reinterpret_cast<void*>(address); }

int export_to(IpcHandle* out, DevicePointer address) {
  fake::Handle handle = {};
  if (const int code = fake::export_handle(address, handle)) return code;
  *out = {};
  std::memcpy(out->bytes, &handle, sizeof handle);
  return 0;
}

int import_from(const IpcHandle& from, DevicePointer& address) {
  fake::Handle handle = {};
  std::memcpy(&handle, from.bytes, sizeof handle);
  return fake::import_handle(handle, address);
}

}  // namespace

FAKE_EXPORT int cuInit(unsigned) {
  FAKE_FAULT("cuInit");
  return device_count() > 0 ? 0 : 100;
}
FAKE_EXPORT int cuDriverGetVersion(int* version) {
  FAKE_FAULT("cuDriverGetVersion");
  *version = fake::number("driver", 13000);
  return 0;
}
FAKE_EXPORT int cuDeviceGetCount(int* count) {
  FAKE_FAULT("cuDeviceGetCount");
  *count = device_count();
  return 0;
}
FAKE_EXPORT int cuDeviceGet(int* device, int ordinal) {
  FAKE_FAULT("cuDeviceGet");
  *device = ordinal;
  return ordinal >= 0 && ordinal < device_count() ? 0 : 101;
}
FAKE_EXPORT int cuDeviceGetName(char* name, int size, int) {
  FAKE_FAULT("cuDeviceGetName");
  std::strncpy(name, "Fake H200", static_cast<std::size_t>(size));
  return 0;
}
FAKE_EXPORT int cuDeviceGetUuid(Uuid* uuid, int device) {
  FAKE_FAULT("cuDeviceGetUuid");
  for (unsigned i = 0; i < sizeof uuid->bytes; ++i) {
    uuid->bytes[i] = static_cast<unsigned char>(16 * static_cast<unsigned>(device) + i);
  }
  return 0;
}
FAKE_EXPORT int cuDeviceGetAttribute(int* value, int attribute, int) {
  FAKE_FAULT("cuDeviceGetAttribute");
  *value = 1;
  if (attribute == kAttributeCapabilityMajor) *value = 9;
  if (attribute == kAttributeCapabilityMinor || attribute == kAttributeMulticast) *value = 0;
  return 0;
}
FAKE_EXPORT int cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  FAKE_FAULT("cuDeviceTotalMem");
  *bytes = std::size_t{1} << 34;
  return 0;
}
/// The fake runtime's way to cudaSetDevice.
FAKE_EXPORT int fakeSetDevice(int device) {
  if (device < 0 || device >= device_count()) return 101;
  current_device = device;
  return 0;
}
FAKE_EXPORT int cuCtxSynchronize() {
  FAKE_FAULT("cuCtxSynchronize");
  return 0;
}
FAKE_EXPORT int cuModuleLoadData(void** module, const void* image) {
  FAKE_FAULT("cuModuleLoadData");
  *module = const_cast<void*>(image);
  return 0;
}
FAKE_EXPORT int cuModuleLoadDataEx(void** module, const void* image, unsigned count, int* names,
                                   void** values) {
  if (const int code = fake::fault("cuModuleLoadDataEx")) {
    for (unsigned i = 0; i < count; ++i) {
      if (names[i] == kJitErrorLogBuffer) std::strcpy(static_cast<char*>(values[i]), "fake JIT");
    }
    return code;
  }
  *module = const_cast<void*>(image);
  return 0;
}
FAKE_EXPORT int cuModuleGetFunction(void** function, void*, const char* name) {
  FAKE_FAULT("cuModuleGetFunction");
  if (!fake::knows_kernel(name)) return 500;
  static std::map<std::string, Function> functions;
  *function = &functions.try_emplace(name, Function{name}).first->second;
  return 0;
}
FAKE_EXPORT int cuModuleUnload(void*) {
  FAKE_FAULT("cuModuleUnload");
  return 0;
}
FAKE_EXPORT int cuLaunchKernel(void* function, unsigned blocks, unsigned, unsigned, unsigned,
                               unsigned, unsigned, unsigned, void*, void** arguments, void**) {
  FAKE_FAULT("cuLaunchKernel");
  return fake::run_kernel(static_cast<Function*>(function)->name, blocks, arguments) ? 0 : 400;
}
FAKE_EXPORT int cuMemAlloc_v2(DevicePointer* out, std::size_t bytes) {
  FAKE_FAULT("cuMemAlloc");
  *out = fake::allocate(bytes, fake::Kind::plain);
  return *out != 0 ? 0 : 2;
}
FAKE_EXPORT int cuMemFree_v2(DevicePointer address) {
  FAKE_FAULT("cuMemFree");
  return fake::release(address, fake::Kind::plain) ? 0 : 1;
}
FAKE_EXPORT int cuMemAllocAsync(DevicePointer* out, std::size_t bytes, void*) {
  FAKE_FAULT("cuMemAllocAsync");
  *out = fake::allocate(bytes, fake::Kind::pool);
  return *out != 0 ? 0 : 2;
}
FAKE_EXPORT int cuMemFreeAsync(DevicePointer address, void*) {
  FAKE_FAULT("cuMemFreeAsync");
  return fake::release(address, fake::Kind::pool) ? 0 : 1;
}
FAKE_EXPORT int cuMemHostAlloc(void** out, std::size_t bytes, unsigned) {
  FAKE_FAULT("cuMemHostAlloc");
  *out = std::malloc(bytes);
  return 0;
}
FAKE_EXPORT int cuMemFreeHost(void* memory) {
  FAKE_FAULT("cuMemFreeHost");
  std::free(memory);
  return 0;
}
FAKE_EXPORT int cuMemsetD8_v2(DevicePointer to, unsigned char byte, std::size_t bytes) {
  FAKE_FAULT("cuMemsetD8");
  if (!fake::is_mapped(to, bytes)) return 1;
  std::memset(pointer(to), byte, bytes);
  return 0;
}
FAKE_EXPORT int cuMemcpyHtoD_v2(DevicePointer to, const void* from, std::size_t bytes) {
  FAKE_FAULT("cuMemcpyHtoD");
  if (!fake::is_mapped(to, bytes)) return 1;
  std::memcpy(pointer(to), from, bytes);
  return 0;
}
FAKE_EXPORT int cuMemcpyDtoH_v2(void* to, DevicePointer from, std::size_t bytes) {
  FAKE_FAULT("cuMemcpyDtoH");
  if (!fake::is_mapped(from, bytes)) return 1;
  std::memcpy(to, pointer(from), bytes);
  return 0;
}
FAKE_EXPORT int cuIpcGetMemHandle(IpcHandle* out, DevicePointer address) {
  FAKE_FAULT("cuIpcGetMemHandle");
  return export_to(out, address);
}
FAKE_EXPORT int cuIpcOpenMemHandle_v2(DevicePointer* out, IpcHandle handle, unsigned) {
  FAKE_FAULT("cuIpcOpenMemHandle");
  return import_from(handle, *out);
}
FAKE_EXPORT int cuIpcCloseMemHandle(DevicePointer address) {
  FAKE_FAULT("cuIpcCloseMemHandle");
  return fake::release(address, fake::Kind::imported) ? 0 : 1;
}
FAKE_EXPORT int cuEventCreate(void** out, unsigned) {
  FAKE_FAULT("cuEventCreate");
  *out = new Event{fake::allocate(sizeof(std::uint64_t), fake::Kind::plain)};
  return 0;
}
FAKE_EXPORT int cuIpcGetEventHandle(IpcHandle* out, void* event) {
  FAKE_FAULT("cuIpcGetEventHandle");
  return export_to(out, static_cast<Event*>(event)->word);
}
FAKE_EXPORT int cuIpcOpenEventHandle(void** out, IpcHandle handle) {
  FAKE_FAULT("cuIpcOpenEventHandle");
  Event event = {.imported = true};
  if (const int code = import_from(handle, event.word)) return code;
  *out = new Event(event);
  return 0;
}
FAKE_EXPORT int cuEventRecord(void* event, void*) {
  FAKE_FAULT("cuEventRecord");
  *static_cast<volatile std::uint64_t*>(pointer(static_cast<Event*>(event)->word)) = 1;
  return 0;
}
FAKE_EXPORT int cuEventSynchronize(void* event) {
  FAKE_FAULT("cuEventSynchronize");
  const auto* word =
      static_cast<volatile std::uint64_t*>(pointer(static_cast<Event*>(event)->word));
  // 600: not ready. An event that nobody recorded would be waited for in vain.
  return *word == 1 ? 0 : 600;
}
FAKE_EXPORT int cuStreamWaitEvent(void*, void* event, unsigned) {
  FAKE_FAULT("cuStreamWaitEvent");
  return event != nullptr ? 0 : 400;
}
FAKE_EXPORT int cuEventDestroy_v2(void* event) {
  FAKE_FAULT("cuEventDestroy");
  const auto* const one = static_cast<Event*>(event);
  fake::release(one->word, one->imported ? fake::Kind::imported : fake::Kind::plain);
  delete one;
  return 0;
}
FAKE_EXPORT int cuMemGetAllocationGranularity(std::size_t* bytes, const MemAllocationProp*, int) {
  FAKE_FAULT("cuMemGetAllocationGranularity");
  *bytes = kGranularity;
  return 0;
}
FAKE_EXPORT int cuMemCreate(std::uint64_t* handle, std::size_t bytes, const MemAllocationProp* prop,
                            std::uint64_t) {
  FAKE_FAULT("cuMemCreate");
  // As a card does whose fabric is not set up, whatever its attribute says.
  if (prop->requested_handle_types == kMemHandleFabric) return 800;
  if (bytes % kGranularity != 0) return 1;
  *handle = keep_physical(fake::make_memory(bytes));
  return 0;
}
FAKE_EXPORT int cuMemRelease(std::uint64_t handle) {
  FAKE_FAULT("cuMemRelease");
  const auto at = physical().find(handle);
  if (at == physical().end()) return 1;
  ::close(at->second);
  physical().erase(at);
  return 0;
}
FAKE_EXPORT int cuMemAddressReserve(DevicePointer* out, std::size_t bytes, std::size_t,
                                    DevicePointer, std::uint64_t) {
  FAKE_FAULT("cuMemAddressReserve");
  *out = fake::reserve(bytes);
  return *out != 0 ? 0 : 2;
}
FAKE_EXPORT int cuMemAddressFree(DevicePointer address, std::size_t) {
  FAKE_FAULT("cuMemAddressFree");
  return fake::release(address, fake::Kind::reserved) ? 0 : 1;
}
FAKE_EXPORT int cuMemMap(DevicePointer address, std::size_t bytes, std::size_t,
                         std::uint64_t handle, std::uint64_t) {
  FAKE_FAULT("cuMemMap");
  const auto at = physical().find(handle);
  if (at == physical().end()) return 1;
  return fake::map_at(address, bytes, at->second) ? 0 : 1;
}
FAKE_EXPORT int cuMemUnmap(DevicePointer address, std::size_t bytes) {
  FAKE_FAULT("cuMemUnmap");
  return fake::unmap_at(address, bytes) ? 0 : 1;
}
FAKE_EXPORT int cuMemSetAccess(DevicePointer address, std::size_t bytes,
                               const MemAccessDesc* access, std::size_t count) {
  FAKE_FAULT("cuMemSetAccess");
  const bool good = fake::is_mapped(address, bytes) && count == 1 &&
                    access->flags == kMemAccessReadWrite &&
                    access->location.type == kMemLocationDevice;
  return good ? 0 : 1;
}
FAKE_EXPORT int cuMemExportToShareableHandle(void* out, std::uint64_t handle, int type,
                                             std::uint64_t) {
  FAKE_FAULT("cuMemExportToShareableHandle");
  const auto at = physical().find(handle);
  if (at == physical().end() || type != kMemHandlePosixDescriptor) return 1;
  const int descriptor = ::dup(at->second);
  std::memcpy(out, &descriptor, sizeof descriptor);
  return 0;
}
FAKE_EXPORT int cuMemImportFromShareableHandle(std::uint64_t* handle, void* from, int type) {
  FAKE_FAULT("cuMemImportFromShareableHandle");
  if (type != kMemHandlePosixDescriptor) return 1;
  const int descriptor = ::dup(static_cast<int>(reinterpret_cast<std::intptr_t>(from)));
  if (descriptor < 0) return 1;
  *handle = keep_physical(descriptor);
  return 0;
}
