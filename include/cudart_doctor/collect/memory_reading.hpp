// Plain values and texts out of a process's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

#include "cudart_doctor/base/byte_source.hpp"
#include "cudart_doctor/base/result.hpp"

namespace cudart_doctor {

/// A trivially copyable value at `address`. Errors: malformed (not mapped), permission, gone, io.
template <typename T>
Result<T> read_value(ByteSource& memory, std::uint64_t address) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value{};
  auto done = read_exact(memory, address, std::as_writable_bytes(std::span(&value, 1)));
  if (!done) return tl::unexpected(done.error());
  return value;
}

/// NUL-terminated text at `address`. Errors: limit (longer than `cap` bytes), malformed (ends in a
/// hole), permission, gone, io.
Result<std::string> read_c_string(ByteSource& memory, std::uint64_t address, std::size_t cap);

}  // namespace cudart_doctor
