// Who called dlopen: the return address on the own stack.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

namespace cudart_doctor::recorder {

/// A return address: an object and the offset from its bias.
struct NativeCaller {
  const link_map* object = nullptr;
  std::uint64_t offset = 0;
};

/// A copy of the stack, from the caller's frame on.
class OwnStack {
 public:
  /// Reads through the kernel: behind the end of the stack is an error, not a fault.
  void read();
  /// The first return address that lies in the code of `object`; no object where there is none.
  [[nodiscard]] NativeCaller find(const link_map& object) const;
  /// The first one in any object from `first` on, the C library and the loader left out.
  [[nodiscard]] NativeCaller find_outside_libc(const link_map* first) const;

 private:
  /// The loader and dlopen need a few KiB; sanitizers' and preloaded wrappers' frames some more.
  static constexpr std::size_t kWords = 8192;
  [[nodiscard]] std::size_t index_in(const link_map& object, std::size_t limit) const;
  std::uintptr_t words_[kWords] = {};
  std::size_t size_ = 0;
};

}  // namespace cudart_doctor::recorder
