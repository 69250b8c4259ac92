// The runtime functions that the probe calls, as one candidate defines them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cudart_doctor/cuda/abi.hpp"
#include "cudart_doctor/cuda/library.hpp"

namespace cudart_doctor {

/// Result codes are ints, streams and events void*; null where the candidate has no such function.
struct RuntimeApi {
  int (*runtime_get_version)(int*) = nullptr;
  int (*driver_get_version)(int*) = nullptr;
  int (*get_device_count)(int*) = nullptr;
  int (*set_device)(int) = nullptr;
  int (*get_last_error)() = nullptr;
  int (*malloc)(void**, std::size_t) = nullptr;
  int (*free)(void*) = nullptr;
  int (*memset)(void*, int, std::size_t) = nullptr;
  int (*memset_async)(void*, int, std::size_t, void*) = nullptr;
  int (*memcpy)(void*, const void*, std::size_t, int) = nullptr;
  int (*memcpy_peer)(void*, int, const void*, int, std::size_t) = nullptr;
  int (*mem_get_info)(std::size_t*, std::size_t*) = nullptr;
  int (*device_synchronize)() = nullptr;
  int (*device_can_access_peer)(int*, int, int) = nullptr;
  int (*func_get_attributes)(cuda_abi::FuncAttributes*, const void*) = nullptr;
  int (*launch_kernel)(const void*, cuda_abi::Dim3, cuda_abi::Dim3, void**, std::size_t,
                       void*) = nullptr;
  int (*ipc_get_mem_handle)(cuda_abi::IpcHandle*, void*) = nullptr;
  int (*ipc_open_mem_handle)(void**, cuda_abi::IpcHandle, unsigned) = nullptr;
  int (*ipc_close_mem_handle)(void*) = nullptr;
  int (*ipc_get_event_handle)(cuda_abi::IpcHandle*, void*) = nullptr;
  int (*ipc_open_event_handle)(void**, cuda_abi::IpcHandle) = nullptr;
  int (*event_create_with_flags)(void**, unsigned) = nullptr;
  int (*event_record)(void*, void*) = nullptr;
  int (*event_synchronize)(void*) = nullptr;
  int (*event_destroy)(void*) = nullptr;
  int (*stream_wait_event)(void*, void*, unsigned) = nullptr;
  void** (*register_fat_binary)(void*) = nullptr;
  void (*register_function)(void**, const char*, char*, const char*, int, void*, void*, void*,
                            void*, int*) = nullptr;
  void (*unregister_fat_binary)(void**) = nullptr;
  // Optional: not in every release.
  void (*register_fat_binary_end)(void**) = nullptr;          ///< From 10.1.
  int (*malloc_async)(void**, std::size_t, void*) = nullptr;  ///< From 11.2.
  int (*free_async)(void*, void*) = nullptr;
};

struct BoundRuntime {
  RuntimeApi api;
  std::vector<std::string> missing;  ///< Functions that every genuine runtime has and this lacks.
};

/// Looks every function up inside `library`; calls none.
BoundRuntime bind_runtime(const Library& library);

}  // namespace cudart_doctor
