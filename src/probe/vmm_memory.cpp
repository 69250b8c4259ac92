// Create or import, reserve, map, grant access; the reverse on release.
#include "vmm_memory.hpp"

#include <utility>

#include "cudart_doctor/cuda/runtime_launcher.hpp"

namespace cudart_doctor {

cuda_abi::MemAllocationProp exportable(int device, int handle_type) {
  cuda_abi::MemAllocationProp prop = {};
  prop.type = cuda_abi::kMemAllocationPinned;
  prop.requested_handle_types = handle_type;
  prop.location = {.type = cuda_abi::kMemLocationDevice, .id = device};
  return prop;
}

CudaStatus VmmMemory::create(int device) {
  const auto prop = exportable(device, cuda_abi::kMemHandlePosixDescriptor);
  const CudaStatus sized = {
      api_.mem_get_allocation_granularity(&bytes_, &prop, cuda_abi::kGranularityMinimum),
      "cuMemGetAllocationGranularity"};
  if (!sized.ok()) return sized;
  const CudaStatus created = {api_.mem_create(&handle_, bytes_, &prop, 0), "cuMemCreate"};
  if (!created.ok()) return created;
  has_handle_ = true;
  return map(device);
}

CudaStatus VmmMemory::import(int device, int descriptor, std::size_t bytes) {
  bytes_ = bytes;
  // The descriptor itself travels in the pointer's place.
  const CudaStatus imported = {api_.mem_import_from_shareable_handle(
                                   &handle_, to_pointer(static_cast<DevicePointer>(descriptor)),
                                   cuda_abi::kMemHandlePosixDescriptor),
                               "cuMemImportFromShareableHandle"};
  if (!imported.ok()) return imported;
  has_handle_ = true;
  return map(device);
}

CudaStatus VmmMemory::map(int device) {
  const CudaStatus reserved = {api_.mem_address_reserve(&address_, bytes_, 0, 0, 0),
                               "cuMemAddressReserve"};
  if (!reserved.ok()) {
    address_ = 0;
    return reserved;
  }
  const CudaStatus mapped = {api_.mem_map(address_, bytes_, 0, handle_, 0), "cuMemMap"};
  if (!mapped.ok()) return mapped;
  mapped_ = true;
  const cuda_abi::MemAccessDesc access = {
      .location = {.type = cuda_abi::kMemLocationDevice, .id = device},
      .flags = cuda_abi::kMemAccessReadWrite};
  return {api_.mem_set_access(address_, bytes_, &access, 1), "cuMemSetAccess"};
}

CudaStatus VmmMemory::export_descriptor(UniqueFd& out) const {
  int descriptor = -1;
  const int code = api_.mem_export_to_shareable_handle(&descriptor, handle_,
                                                       cuda_abi::kMemHandlePosixDescriptor, 0);
  if (code == 0) out = UniqueFd(descriptor);
  return {code, "cuMemExportToShareableHandle"};
}

CudaStatus VmmMemory::release() {
  CudaStatus first;
  const auto keep = [&first](CudaStatus status) {
    if (first.ok() && !status.ok()) first = status;
  };
  if (std::exchange(mapped_, false)) keep({api_.mem_unmap(address_, bytes_), "cuMemUnmap"});
  if (const auto address = std::exchange(address_, 0); address != 0) {
    keep({api_.mem_address_free(address, bytes_), "cuMemAddressFree"});
  }
  if (std::exchange(has_handle_, false)) keep({api_.mem_release(handle_), "cuMemRelease"});
  return first;
}

}  // namespace cudart_doctor
