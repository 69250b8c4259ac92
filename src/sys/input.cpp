#include "cudart_doctor/sys/input.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "cudart_doctor/sys/unique_fd.hpp"

namespace cudart_doctor {
namespace {

/// As read(), but never fails for a signal or for a descriptor that does not wait.
ssize_t read_some(int fd, char* buffer, std::size_t size) {
  while (true) {
    const ssize_t count = ::read(fd, buffer, size);
    if (count >= 0) return count;
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      pollfd wait{.fd = fd, .events = POLLIN, .revents = 0};
      if (::poll(&wait, 1, -1) >= 0 || errno == EINTR) continue;
      return -1;
    }
    if (errno != EINTR) return -1;
  }
}

struct Source {
  int fd = -1;
  std::string_view failure;  ///< What is said where it cannot be read.
};

Result<InputEnd> read_source(const Source& source, std::size_t limit, const InputTaker& take) {
  std::vector<char> buffer(std::size_t{128} * 1024);
  std::size_t left = limit;
  while (true) {
    // At the limit one byte more tells whether anything was left.
    const std::size_t wanted = left == 0 ? 1 : std::min(left, buffer.size());
    const ssize_t count = read_some(source.fd, buffer.data(), wanted);
    if (count < 0) {
      const int error = errno;
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
