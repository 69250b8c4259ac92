// What a compiler calls without being asked, where there is no C library.
#include <cstddef>

extern "C" {

void* memcpy(void* to, const void* from, std::size_t size) {
  auto* const target = static_cast<unsigned char*>(to);
  const auto* const source = static_cast<const unsigned char*>(from);
  for (std::size_t i = 0; i < size; ++i) target[i] = source[i];
  return to;
}

void* memmove(void* to, const void* from, std::size_t size) {
  auto* const target = static_cast<unsigned char*>(to);
  const auto* const source = static_cast<const unsigned char*>(from);
  if (target <= source) return memcpy(to, from, size);
  for (std::size_t i = size; i > 0; --i) target[i - 1] = source[i - 1];
  return to;
}

void* memset(void* to, int value, std::size_t size) {
  auto* const target = static_cast<unsigned char*>(to);
  for (std::size_t i = 0; i < size; ++i) target[i] = static_cast<unsigned char>(value);
  return to;
}

int memcmp(const void* a, const void* b, std::size_t size) {
  const auto* const left = static_cast<const unsigned char*>(a);
  const auto* const right = static_cast<const unsigned char*>(b);
  for (std::size_t i = 0; i < size; ++i) {
    if (left[i] != right[i]) return left[i] < right[i] ? -1 : 1;
  }
  return 0;
}

std::size_t strlen(const char* text) {
  std::size_t size = 0;
  while (text[size] != '\0') ++size;
  return size;
}

}  // extern "C"
