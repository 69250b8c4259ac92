// Device memory of one operator's check: inputs uploaded, outputs poisoned and guarded, all of it
// freed at the end. After the first call that fails nothing more is called, but for the freeing.
#pragma once

#include <cstddef>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "cudart_doctor/cuda/launcher.hpp"

namespace cudart_doctor {

class CheckSession {
 public:
  explicit CheckSession(DeviceMemory& memory) : memory_(memory) {}
  CheckSession(const CheckSession&) = delete;
  CheckSession& operator=(const CheckSession&) = delete;
  ~CheckSession() {
    for (const auto& [pointer, bytes] : blocks_) memory_.release(pointer);
  }

  template <typename T>
  DevicePointer upload(const std::vector<T>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    const DevicePointer pointer = allocate(bytes.size());
    if (ok()) keep(memory_.upload(pointer, bytes));
    return pointer;
  }

  /// `count` elements of T, all bytes 0xFF: a NaN as fp32 and as bf16.
  template <typename T>
  DevicePointer output(std::size_t count) {
    const DevicePointer pointer = allocate(count * sizeof(T));
    poison(pointer);
    return pointer;
  }

  /// Poisons an output again.
  void poison(DevicePointer pointer) {
    if (ok()) keep(memory_.fill(pointer, kPoison, blocks_[pointer] + kGuard));
  }

  void keep(const CudaStatus& status) {
    if (ok()) status_ = status;
  }
  void synchronize() {
    if (ok()) keep(memory_.synchronize());
  }

  /// An output's elements; empty after a failure. Notes what was written behind them.
  template <typename T>
  std::vector<T> download(DevicePointer pointer) {
    if (!ok()) return {};
    const std::size_t bytes = blocks_[pointer];
    std::vector<std::byte> raw(bytes + kGuard);
    keep(memory_.download(raw, pointer));
    if (!ok()) return {};
    for (std::size_t i = bytes; i < raw.size(); ++i)
      overrun_ = overrun_ || raw[i] != std::byte{kPoison};
    std::vector<T> values(bytes / sizeof(T));
    if (bytes != 0) std::memcpy(values.data(), raw.data(), bytes);
    return values;
  }

  [[nodiscard]] bool ok() const { return status_.ok(); }
  [[nodiscard]] const CudaStatus& status() const { return status_; }
  /// Something was written behind a downloaded output.
  [[nodiscard]] bool overrun() const { return overrun_; }

 private:
  static constexpr std::uint8_t kPoison = 0xFF;
  static constexpr std::size_t kGuard = 256;

  DevicePointer allocate(std::size_t bytes) {
    DevicePointer pointer = 0;
    if (ok()) keep(memory_.allocate(bytes + kGuard, pointer));
    if (ok()) blocks_[pointer] = bytes;
    return pointer;
  }

  DeviceMemory& memory_;
  CudaStatus status_;
  bool overrun_ = false;
  std::map<DevicePointer, std::size_t> blocks_;  ///< Bytes without the guard.
};

}  // namespace cudart_doctor
