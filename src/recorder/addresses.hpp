// Between pointers and numbers: the loader and the kernel give addresses, not pointers.
#pragma once

#include <cstdint>

namespace cudart_doctor::recorder {

/// A pointer as the kernel takes it.
template <typename T>
long address(T* pointer) {
  return static_cast<long>(reinterpret_cast<std::uintptr_t>(pointer));
}

template <typename Pointer>
Pointer pointer_to(std::uintptr_t place) {
  // There is no pointer that it could be made of.
  return reinterpret_cast<Pointer>(place);  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace cudart_doctor::recorder
