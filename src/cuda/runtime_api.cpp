// Which name fills which pointer of the runtime's table.
#include "cudart_doctor/cuda/runtime_api.hpp"

#include <utility>

#include "symbol_binder.hpp"

namespace cudart_doctor {

BoundRuntime bind_runtime(const Library& library) {
  SymbolBinder binder(library);
  RuntimeApi api;
  binder.need("cudaRuntimeGetVersion", api.runtime_get_version);
  binder.need("cudaDriverGetVersion", api.driver_get_version);
  binder.need("cudaGetDeviceCount", api.get_device_count);
  binder.need("cudaSetDevice", api.set_device);
  binder.need("cudaGetLastError", api.get_last_error);
  binder.need("cudaMalloc", api.malloc);
  binder.need("cudaFree", api.free);
  binder.need("cudaMemset", api.memset);
  binder.need("cudaMemsetAsync", api.memset_async);
  binder.need("cudaMemcpy", api.memcpy);
  binder.need("cudaMemcpyPeer", api.memcpy_peer);
  binder.need("cudaMemGetInfo", api.mem_get_info);
  binder.need("cudaDeviceSynchronize", api.device_synchronize);
  binder.need("cudaDeviceCanAccessPeer", api.device_can_access_peer);
  binder.need("cudaFuncGetAttributes", api.func_get_attributes);
  binder.need("cudaLaunchKernel", api.launch_kernel);
  binder.need("cudaIpcGetMemHandle", api.ipc_get_mem_handle);
  binder.need("cudaIpcOpenMemHandle", api.ipc_open_mem_handle);
  binder.need("cudaIpcCloseMemHandle", api.ipc_close_mem_handle);
  binder.need("cudaIpcGetEventHandle", api.ipc_get_event_handle);
  binder.need("cudaIpcOpenEventHandle", api.ipc_open_event_handle);
  binder.need("cudaEventCreateWithFlags", api.event_create_with_flags);
  binder.need("cudaEventRecord", api.event_record);
  binder.need("cudaEventSynchronize", api.event_synchronize);
  binder.need("cudaEventDestroy", api.event_destroy);
  binder.need("cudaStreamWaitEvent", api.stream_wait_event);
  binder.need("__cudaRegisterFatBinary", api.register_fat_binary);
  binder.need("__cudaRegisterFunction", api.register_function);
  binder.need("__cudaUnregisterFatBinary", api.unregister_fat_binary);
  binder.want("__cudaRegisterFatBinaryEnd", api.register_fat_binary_end);
  binder.want("cudaMallocAsync", api.malloc_async);
  binder.want("cudaFreeAsync", api.free_async);
  return {api, std::move(binder).missing()};
}

}  // namespace cudart_doctor
