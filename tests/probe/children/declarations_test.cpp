// Our own declarations against the toolkit's headers, where these are installed.
#include "support/catch.hpp"

#if __has_include(<cuda.h>) && __has_include(<cuda_runtime_api.h>)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
#pragma GCC diagnostic ignored "-Wold-style-cast"
#include <cuda.h>
#include <cuda_runtime_api.h>
#pragma GCC diagnostic pop

#include <cstddef>
#include <type_traits>

#include "cudart_doctor/cuda/abi.hpp"
#include "cudart_doctor/cuda/driver_api.hpp"
#include "cudart_doctor/cuda/runtime_api.hpp"

namespace abi = cudart_doctor::cuda_abi;

static_assert(sizeof(abi::IpcHandle) == sizeof(cudaIpcMemHandle_t));
static_assert(sizeof(abi::IpcHandle) == sizeof(cudaIpcEventHandle_t));
static_assert(sizeof(abi::IpcHandle) == sizeof(CUipcMemHandle));
static_assert(alignof(abi::IpcHandle) == alignof(cudaIpcMemHandle_t));
static_assert(sizeof(abi::Dim3) == sizeof(dim3) && alignof(abi::Dim3) == alignof(dim3));
static_assert(sizeof(abi::Uuid) == sizeof(CUuuid));
static_assert(sizeof(abi::FuncAttributes) >= sizeof(cudaFuncAttributes));
static_assert(offsetof(abi::FuncAttributes, ptx_version) ==
              offsetof(cudaFuncAttributes, ptxVersion));
static_assert(offsetof(abi::FuncAttributes, binary_version) ==
              offsetof(cudaFuncAttributes, binaryVersion));
static_assert(sizeof(abi::MemAllocationProp) == sizeof(CUmemAllocationProp));
static_assert(offsetof(abi::MemAllocationProp, requested_handle_types) ==
              offsetof(CUmemAllocationProp, requestedHandleTypes));
static_assert(offsetof(abi::MemAllocationProp, location) ==
              offsetof(CUmemAllocationProp, location));
static_assert(sizeof(abi::MemAccessDesc) == sizeof(CUmemAccessDesc));
static_assert(offsetof(abi::MemAccessDesc, flags) == offsetof(CUmemAccessDesc, flags));
static_assert(sizeof(cudaError_t) == sizeof(int) && sizeof(CUresult) == sizeof(int));
static_assert(sizeof(CUdeviceptr) == sizeof(cudart_doctor::DevicePointer));
static_assert(sizeof(CUmemGenericAllocationHandle) == sizeof(std::uint64_t));
static_assert(sizeof(CUdevice) == sizeof(int) && sizeof(CUjit_option) == sizeof(int));

static_assert(abi::kMemcpyHostToDevice == cudaMemcpyHostToDevice);
static_assert(abi::kMemcpyDeviceToHost == cudaMemcpyDeviceToHost);
static_assert(abi::kIpcMemLazyEnablePeerAccess == cudaIpcMemLazyEnablePeerAccess);
static_assert(abi::kEventDisableTiming == cudaEventDisableTiming);
static_assert(abi::kEventInterprocess == cudaEventInterprocess);
static_assert(abi::kAttributeCapabilityMajor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(abi::kAttributeCapabilityMinor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(abi::kMemAllocationPinned == CU_MEM_ALLOCATION_TYPE_PINNED);
static_assert(abi::kMemLocationDevice == CU_MEM_LOCATION_TYPE_DEVICE);
static_assert(abi::kMemHandlePosixDescriptor == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
static_assert(abi::kMemAccessReadWrite == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
static_assert(abi::kGranularityMinimum == CU_MEM_ALLOC_GRANULARITY_MINIMUM);
static_assert(abi::kJitErrorLogBuffer == CU_JIT_ERROR_LOG_BUFFER);
static_assert(abi::kJitErrorLogBufferBytes == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
#if CUDA_VERSION >= 12030
static_assert(abi::kAttributeFabric == CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED);
static_assert(abi::kAttributeMulticast == CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED);
static_assert(abi::kMemHandleFabric == CU_MEM_HANDLE_TYPE_FABRIC);
#endif

namespace {

/// Two parameters that travel alike: both pointers, or numbers and enumerations of one size, or
/// structures of one size.
template <typename Ours, typename Theirs>
constexpr bool kAlike =
    std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> && sizeof(Ours) == sizeof(Theirs) &&
    std::is_class_v<Ours> == std::is_class_v<Theirs> &&
    std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs>;

template <typename Ours, typename Theirs>
struct SameCall : std::false_type {};
template <typename OurResult, typename... Ours, typename TheirResult, typename... Theirs>
  requires(sizeof...(Ours) == sizeof...(Theirs))
struct SameCall<OurResult (*)(Ours...), TheirResult (*)(Theirs...)>
    : std::bool_constant<sizeof(OurResult) == sizeof(TheirResult) &&
                         (kAlike<Ours, Theirs> && ...)> {};

using Runtime = cudart_doctor::RuntimeApi;
using Driver = cudart_doctor::DriverApi;

#define SAME_RUNTIME(member, name) \
  static_assert(SameCall<decltype(Runtime::member), decltype(&name)>::value)
#define SAME_DRIVER(member, name) \
  static_assert(SameCall<decltype(Driver::member), decltype(&name)>::value)

SAME_RUNTIME(runtime_get_version, ::cudaRuntimeGetVersion);
SAME_RUNTIME(driver_get_version, ::cudaDriverGetVersion);
SAME_RUNTIME(get_device_count, ::cudaGetDeviceCount);
SAME_RUNTIME(set_device, ::cudaSetDevice);
SAME_RUNTIME(free, ::cudaFree);
SAME_RUNTIME(memset, ::cudaMemset);
SAME_RUNTIME(memset_async, ::cudaMemsetAsync);
SAME_RUNTIME(memcpy, ::cudaMemcpy);
SAME_RUNTIME(memcpy_peer, ::cudaMemcpyPeer);
SAME_RUNTIME(mem_get_info, ::cudaMemGetInfo);
SAME_RUNTIME(device_can_access_peer, ::cudaDeviceCanAccessPeer);
SAME_RUNTIME(ipc_get_mem_handle, ::cudaIpcGetMemHandle);
SAME_RUNTIME(ipc_open_mem_handle, ::cudaIpcOpenMemHandle);
SAME_RUNTIME(ipc_close_mem_handle, ::cudaIpcCloseMemHandle);
SAME_RUNTIME(ipc_get_event_handle, ::cudaIpcGetEventHandle);
SAME_RUNTIME(ipc_open_event_handle, ::cudaIpcOpenEventHandle);
SAME_RUNTIME(event_record, ::cudaEventRecord);
SAME_RUNTIME(event_destroy, ::cudaEventDestroy);
SAME_RUNTIME(stream_wait_event, ::cudaStreamWaitEvent);

SAME_DRIVER(device_get_name, ::cuDeviceGetName);
SAME_DRIVER(device_get_attribute, ::cuDeviceGetAttribute);
SAME_DRIVER(device_total_mem, ::cuDeviceTotalMem);
SAME_DRIVER(module_load_data, ::cuModuleLoadData);
SAME_DRIVER(module_load_data_ex, ::cuModuleLoadDataEx);
SAME_DRIVER(module_get_function, ::cuModuleGetFunction);
SAME_DRIVER(launch_kernel, ::cuLaunchKernel);
SAME_DRIVER(mem_alloc, ::cuMemAlloc);
SAME_DRIVER(memset_d8, ::cuMemsetD8);
SAME_DRIVER(memcpy_htod, ::cuMemcpyHtoD);
SAME_DRIVER(memcpy_dtoh, ::cuMemcpyDtoH);
SAME_DRIVER(mem_host_alloc, ::cuMemHostAlloc);
SAME_DRIVER(ipc_get_mem_handle, ::cuIpcGetMemHandle);
SAME_DRIVER(mem_get_allocation_granularity, ::cuMemGetAllocationGranularity);
SAME_DRIVER(mem_create, ::cuMemCreate);
SAME_DRIVER(mem_release, ::cuMemRelease);
SAME_DRIVER(mem_address_reserve, ::cuMemAddressReserve);
SAME_DRIVER(mem_address_free, ::cuMemAddressFree);
SAME_DRIVER(mem_map, ::cuMemMap);
SAME_DRIVER(mem_unmap, ::cuMemUnmap);
SAME_DRIVER(mem_set_access, ::cuMemSetAccess);
SAME_DRIVER(mem_export_to_shareable_handle, ::cuMemExportToShareableHandle);
SAME_DRIVER(mem_import_from_shareable_handle, ::cuMemImportFromShareableHandle);
SAME_DRIVER(mem_alloc_async, ::cuMemAllocAsync);
SAME_DRIVER(mem_free_async, ::cuMemFreeAsync);

}  // namespace

#include "cudart_doctor/analyze/cuda_codes.hpp"

TEST_CASE("codes have the names of the installed headers") {
  using cudart_doctor::cuda_code_name;
  CHECK(cuda_code_name(cudaErrorInvalidValue, "cudaMalloc") == "cudaErrorInvalidValue");
  CHECK(cuda_code_name(cudaErrorStubLibrary, "cudaMalloc") == "cudaErrorStubLibrary");
  CHECK(cuda_code_name(cudaErrorSystemDriverMismatch, "") == "cudaErrorSystemDriverMismatch");
  CHECK(cuda_code_name(CUDA_ERROR_SYSTEM_NOT_READY, "cuInit") == "CUDA_ERROR_SYSTEM_NOT_READY");
  CHECK(cuda_code_name(cudaErrorMpsMaxConnectionsReached, "") ==
        "cudaErrorMpsMaxConnectionsReached");
}
#else
TEST_CASE("declarations match the toolkit's headers") {
  WARN("skipped: cuda.h and cuda_runtime_api.h are not installed");
  std::exit(77);
}
#endif
