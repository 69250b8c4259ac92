#include "cudart_doctor/sys/input.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <vector>

#include "cudart_doctor/sys/unique_fd.hpp"

namespace cudart_doctor {
namespace {

using Clock = std::chrono::steady_clock;

struct Source {
  int fd = -1;
  std::string_view failure;  ///< What is said where it cannot be read.
  Clock::time_point end = Clock::time_point::max();
};

/// Milliseconds for poll; a time that is over does not wait.
int wait_until(Clock::time_point end) {
  if (end == Clock::time_point::max()) return -1;
  constexpr std::int64_t kLongest = INT_MAX;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, kLongest));
}

/// As read(), but never fails for a signal or for a descriptor that does not wait. With an end,
/// ETIMEDOUT where nothing came before it.
ssize_t read_some(const Source& source, char* buffer, std::size_t size) {
  // Without an end the read itself waits, unless the descriptor does not.
  bool waits = source.end != Clock::time_point::max();
  while (true) {
    if (waits) {
      pollfd wait{.fd = source.fd, .events = POLLIN, .revents = 0};
      const int ready = ::poll(&wait, 1, wait_until(source.end));
      if (ready < 0 && errno == EINTR) continue;
      if (ready == 0) errno = ETIMEDOUT;
      if (ready <= 0) return -1;
    }
    const ssize_t count = ::read(source.fd, buffer, size);
    if (count >= 0) return count;
    waits = waits || errno == EAGAIN || errno == EWOULDBLOCK;
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) return -1;
  }
}

Result<InputEnd> read_source(const Source& source, std::size_t limit, const InputTaker& take) {
  std::vector<char> buffer(std::size_t{128} * 1024);
  std::size_t left = limit;
  while (true) {
    // At the limit one byte more tells whether anything was left.
    const std::size_t wanted = left == 0 ? 1 : std::min(left, buffer.size());
    const ssize_t count = read_some(source, buffer.data(), wanted);
    if (count < 0) {
      const int error = errno;
      if (error == ETIMEDOUT && source.end != Clock::time_point::max()) {
        return fail(ErrorKind::timeout, "no answer within the deadline during: read stdin");
      }
      return fail(ErrorKind::io, std::string(source.failure) + ": " + std::strerror(error), error);
    }
    if (count == 0) return InputEnd::complete;
    if (left == 0) return InputEnd::cut;
    take({buffer.data(), static_cast<std::size_t>(count)});
    left -= static_cast<std::size_t>(count);
  }
}

}  // namespace

Result<InputEnd> read_input(int fd, std::size_t limit, const InputTaker& take) {
  return read_source({fd, "cannot read stdin"}, limit, take);
}

Result<InputEnd> read_stdin(const InputLimits& limits, const InputTaker& take) {
  return read_source({STDIN_FILENO, "cannot read stdin", limits.end}, limits.bytes, take);
}

Result<InputEnd> read_input_at(const std::string& path, std::size_t limit, const InputTaker& take) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NOCTTY | O_CLOEXEC));
  if (!fd.valid()) {
    const int error = errno;
    const ErrorKind kind = error == ENOENT   ? ErrorKind::not_found
                           : error == EACCES ? ErrorKind::permission
                                             : ErrorKind::io;
    return fail(kind, std::string("cannot be opened: ") + std::strerror(error), error);
  }
  return read_source({fd.get(), "cannot be read"}, limit, take);
}

}  // namespace cudart_doctor
