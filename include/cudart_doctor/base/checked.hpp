// Overflow-safe comparisons for numbers that come from a file, a process or a child.
#pragma once

#include <cstdint>

namespace cudart_doctor {

/// True when [offset, offset + size) lies inside [0, total); never wraps.
[[nodiscard]] constexpr bool fits(std::uint64_t offset, std::uint64_t size, std::uint64_t total) {
  return offset <= total && size <= total - offset;
}

/// a + b, or UINT64_MAX when that wraps.
[[nodiscard]] constexpr std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

}  // namespace cudart_doctor
