// Result<T>: the tool could or could not do its work. Expected values instead of exceptions;
// exceptions of third-party libraries are stopped in app.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace cudart_doctor {

/// What went wrong, in the terms that decide the exit code.
enum class ErrorKind : std::uint8_t {
  usage,        ///< The request itself is wrong (exit 2).
  not_found,    ///< A named thing does not exist.
  permission,   ///< The kernel refused; the message names the missing right.
  gone,         ///< The process vanished or its PID was reused.
  timeout,      ///< A deadline passed.
  io,           ///< Any other failed system call.
  malformed,    ///< Bytes that cannot be what they claim to be.
  limit,        ///< A cap was hit before allocation.
  unsupported,  ///< Well formed, but nothing this tool can read (32-bit, other byte order).
};

/// An error with the sentence that the user sees. `sys_errno` is 0 where no system call failed.
struct Error {
  ErrorKind kind = ErrorKind::io;
  std::string message;
  int sys_errno = 0;
};

template <typename T>
using Result = tl::expected<T, Error>;

/// Shorthand for `return fail(ErrorKind::malformed, "...")` from a function returning Result<T>.
[[nodiscard]] inline tl::unexpected<Error> fail(ErrorKind kind, std::string message,
                                                int sys_errno = 0) {
  return tl::unexpected<Error>(Error{kind, std::move(message), sys_errno});
}

}  // namespace cudart_doctor
