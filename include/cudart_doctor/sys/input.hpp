// Reads what the user pipes in, in pieces and up to a limit.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "cudart_doctor/base/result.hpp"

namespace cudart_doctor {

enum class InputEnd : bool { complete, cut };

using InputTaker = std::function<void(std::string_view bytes)>;

/// Gives `take` at most `limit` bytes of descriptor `fd`; EINTR is retried. `cut` where there was
/// more. Errors: io with errno.
Result<InputEnd> read_input(int fd, std::size_t limit, const InputTaker& take);

/// How much is read, and until when.
struct InputLimits {
  std::size_t bytes = 0;
  std::chrono::steady_clock::time_point end;
};

/// read_input on stdin, which is not waited for beyond the end; what is there then is still read.
/// Errors: timeout too.
Result<InputEnd> read_stdin(const InputLimits& limits, const InputTaker& take);

/// The same for what lies at `path`: a file, a pipe (a shell's `<(command)`). Opening a pipe waits
/// for its writer. Errors: not_found, permission, io.
Result<InputEnd> read_input_at(const std::string& path, std::size_t limit, const InputTaker& take);

}  // namespace cudart_doctor
