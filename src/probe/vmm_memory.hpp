// Memory of cuMemCreate, mapped and accessible: made here or imported from a descriptor.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cudart_doctor/cuda/driver_api.hpp"
#include "cudart_doctor/sys/unique_fd.hpp"

namespace cudart_doctor {

class VmmMemory {
 public:
  /// `api` has_virtual_memory() and outlives this.
  explicit VmmMemory(const DriverApi& api) : api_(api) {}
  VmmMemory(const VmmMemory&) = delete;
  VmmMemory& operator=(const VmmMemory&) = delete;
  ~VmmMemory() { (void)release(); }

  /// The smallest piece that can be exported as a descriptor, on `device`.
  CudaStatus create(int device);
  /// What another process exported as `descriptor`, `bytes` long.
  CudaStatus import(int device, int descriptor, std::size_t bytes);
  CudaStatus export_descriptor(UniqueFd& out) const;
  /// Unmaps and gives back; the first call that failed.
  CudaStatus release();

  [[nodiscard]] DevicePointer address() const { return address_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  CudaStatus map(int device);

  const DriverApi& api_;
  std::size_t bytes_ = 0;
  std::uint64_t handle_ = 0;
  bool has_handle_ = false;
  bool mapped_ = false;
  DevicePointer address_ = 0;
};

/// Device memory of `device` that can be exported as `handle_type`.
cuda_abi::MemAllocationProp exportable(int device, int handle_type);

}  // namespace cudart_doctor
