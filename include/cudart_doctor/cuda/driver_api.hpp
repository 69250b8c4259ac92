// The driver functions that the probe calls, opened after a candidate's first call so that its own
// choice of libcuda wins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/cuda/abi.hpp"
#include "cudart_doctor/cuda/launcher.hpp"
#include "cudart_doctor/model/probe.hpp"

namespace cudart_doctor {

/// Result codes and devices are ints, contexts, modules and functions void*, allocation handles
/// 64 bits. Functions below "newer" may be null.
struct DriverApi {
  int (*init)(unsigned) = nullptr;
  int (*driver_get_version)(int*) = nullptr;
  int (*device_get)(int*, int) = nullptr;
  int (*device_get_name)(char*, int, int) = nullptr;
  int (*device_get_attribute)(int*, int, int) = nullptr;
  int (*device_total_mem)(std::size_t*, int) = nullptr;
  int (*ctx_synchronize)() = nullptr;
  int (*module_load_data)(void**, const void*) = nullptr;
  int (*module_load_data_ex)(void**, const void*, unsigned, int*, void**) = nullptr;
  int (*module_get_function)(void**, void*, const char*) = nullptr;
  int (*module_unload)(void*) = nullptr;
  int (*launch_kernel)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                       void*, void**, void**) = nullptr;
  int (*mem_alloc)(DevicePointer*, std::size_t) = nullptr;
  int (*mem_free)(DevicePointer) = nullptr;
  int (*memset_d8)(DevicePointer, unsigned char, std::size_t) = nullptr;
  int (*memcpy_htod)(DevicePointer, const void*, std::size_t) = nullptr;
  int (*memcpy_dtoh)(void*, DevicePointer, std::size_t) = nullptr;
  int (*mem_host_alloc)(void**, std::size_t, unsigned) = nullptr;
  int (*mem_free_host)(void*) = nullptr;
  int (*ipc_get_mem_handle)(cuda_abi::IpcHandle*, DevicePointer) = nullptr;
  // Newer
  int (*device_get_uuid)(cuda_abi::Uuid*, int) = nullptr;
  int (*mem_get_allocation_granularity)(std::size_t*, const cuda_abi::MemAllocationProp*,
                                        int) = nullptr;
  int (*mem_create)(std::uint64_t*, std::size_t, const cuda_abi::MemAllocationProp*,
                    std::uint64_t) = nullptr;
  int (*mem_release)(std::uint64_t) = nullptr;
  int (*mem_address_reserve)(DevicePointer*, std::size_t, std::size_t, DevicePointer,
                             std::uint64_t) = nullptr;
  int (*mem_address_free)(DevicePointer, std::size_t) = nullptr;
  int (*mem_map)(DevicePointer, std::size_t, std::size_t, std::uint64_t, std::uint64_t) = nullptr;
  int (*mem_unmap)(DevicePointer, std::size_t) = nullptr;
  int (*mem_set_access)(DevicePointer, std::size_t, const cuda_abi::MemAccessDesc*,
                        std::size_t) = nullptr;
  int (*mem_export_to_shareable_handle)(void*, std::uint64_t, int, std::uint64_t) = nullptr;
  int (*mem_import_from_shareable_handle)(std::uint64_t*, void*, int) = nullptr;
  int (*mem_alloc_async)(DevicePointer*, std::size_t, void*) = nullptr;
  int (*mem_free_async)(DevicePointer, void*) = nullptr;

  /// Everything that memory from cuMemCreate needs.
  [[nodiscard]] bool has_virtual_memory() const;
};

/// The libcuda that is loaded already, else the one that the loader finds; calls nothing of it.
/// Errors: malformed, with the loader's text or the names that are missing.
Result<DriverApi> open_driver();

/// Where `api` lies: the mapped file, its identity, its version.
ProbeDriver describe_driver(const DriverApi& api);

/// Name, UUID, capability and memory of a visible device; what cannot be asked stays empty.
ProbeDevice describe_device(const DriverApi& api, int ordinal);

}  // namespace cudart_doctor
