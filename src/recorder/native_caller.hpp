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

/// A copy of the stack, from the caller's frame on. Words of calls that have returned are on it
/// too: one whose call instruction leads to dlopen is taken before others.
class OwnStack {
 public:
  /// Reads through the kernel: behind the end of the stack is an error, not a fault. `first` begins
  /// the list of the program's objects.
  void read(const link_map* first);
  /// Where `object` called dlopen; no object where no such place is found.
  [[nodiscard]] NativeCaller find(const link_map& object) const;
  /// Where any object did, the C library left out; only calls that surely lead to dlopen or
  /// dlmopen.
  [[nodiscard]] NativeCaller find_in_any() const;

 private:
  /// The loader and dlopen need a few KiB; sanitizers' and preloaded wrappers' frames some more.
  static constexpr std::size_t kWords = 8192;
  static constexpr std::size_t kMaxOpeners = 16;
  [[nodiscard]] bool calls_opener(std::uintptr_t place) const;
  std::uintptr_t words_[kWords] = {};
  std::size_t size_ = 0;
  const link_map* first_ = nullptr;
  std::uintptr_t openers_[kMaxOpeners] = {};  ///< dlopen and dlmopen, and those of hooks.
  std::size_t opener_count_ = 0;
};

}  // namespace cudart_doctor::recorder
