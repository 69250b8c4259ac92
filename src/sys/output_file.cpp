#include "cudart_doctor/sys/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/sys/unique_fd.hpp"

namespace cudart_doctor {
namespace {

tl::unexpected<Error> cannot_write(const std::string& path, int error) {
  return fail(ErrorKind::usage,
              "cannot write " + escape_foreign(path) + ": " + std::strerror(error), error);
}

Result<void> write_opened(const std::string& path, int flags, std::string_view bytes) {
  const UniqueFd fd(::open(path.c_str(), flags | O_WRONLY | O_CLOEXEC | O_NOCTTY, 0666));
  if (!fd.valid()) return cannot_write(path, errno);
  const auto written = write_all(fd.get(), bytes);
  if (!written && written.error().sys_errno != EPIPE) {
    return cannot_write(path, written.error().sys_errno);
  }
  return {};
}

/// A file of this process's own beside `path`: rename only replaces within one file system.
std::string temporary_beside(const std::string& path) {
  return path + ".tmp." + std::to_string(::getpid());
}

Result<void> replace_file(const std::string& path, std::string_view bytes) {
  const std::string temporary = temporary_beside(path);
  const auto written = write_opened(temporary, O_CREAT | O_EXCL | O_NOFOLLOW, bytes);
  if (!written) {
    if (written.error().sys_errno != EEXIST) ::unlink(temporary.c_str());
    return cannot_write(path, written.error().sys_errno);
  }
  if (::rename(temporary.c_str(), path.c_str()) == 0) return {};
  const int error = errno;
  ::unlink(temporary.c_str());
  // A bind-mounted file cannot be renamed over; it can be written.
  if (error == EBUSY) return write_opened(path, O_TRUNC, bytes);
  return cannot_write(path, error);
}

}  // namespace

Result<void> write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0) {
      if (errno == EINTR) continue;
      return fail(ErrorKind::io, std::strerror(errno), errno);
    }
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Result<void> write_output(const std::string& path, std::string_view bytes) {
  if (path == "-") {
    const auto written = write_all(STDOUT_FILENO, bytes);
    if (!written && written.error().sys_errno != EPIPE) {
      return cannot_write("standard output", written.error().sys_errno);
    }
    return {};
  }
  struct stat status{};
  if (::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return cannot_write(path, EISDIR);
    if (!S_ISREG(status.st_mode)) return write_opened(path, 0, bytes);
  }
  return replace_file(path, bytes);
}

}  // namespace cudart_doctor
