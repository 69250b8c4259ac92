#include "cudart_doctor/sys/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/sys/unique_fd.hpp"

namespace cudart_doctor {
namespace {

tl::unexpected<Error> cannot_write(const std::string& path, int error) {
  return fail(ErrorKind::usage,
              "cannot write " + escape_foreign(path) + ": " + std::strerror(error), error);
}

/// Which file may be behind the name that is opened; what was looked at before it was opened may be
/// gone, with another user's link in its place.
using IsExpected = bool(const struct stat& status);

bool is_regular(const struct stat& status) { return S_ISREG(status.st_mode); }
bool is_no_regular(const struct stat& status) { return !S_ISREG(status.st_mode); }
bool is_new(const struct stat& status) { return S_ISREG(status.st_mode) && status.st_size == 0; }

Result<void> write_opened(const std::string& path, int flags, IsExpected* is_expected,
                          std::string_view bytes) {
  const UniqueFd fd(
      ::open(path.c_str(), (flags & ~O_TRUNC) | O_WRONLY | O_CLOEXEC | O_NOCTTY, 0666));
  if (!fd.valid()) return cannot_write(path, errno);
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return cannot_write(path, errno);
  if (!is_expected(status)) return cannot_write(path, ELOOP);
  if ((flags & O_TRUNC) != 0 && ::ftruncate(fd.get(), 0) != 0) return cannot_write(path, errno);
  const auto written = write_all(fd.get(), bytes);
  if (!written && written.error().sys_errno != EPIPE) {
    return cannot_write(path, written.error().sys_errno);
  }
  return {};
}

/// The mode that open() would have given a new file.
mode_t usual_mode() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

/// Owner and mode of the file that is to be replaced. Who may not give files away keeps them.
void take_over(int fd, const struct stat& old) {
  if (::fchown(fd, old.st_uid, old.st_gid) != 0 && ::fchown(fd, uid_t(-1), old.st_gid) != 0) {
    ::fchmod(fd, old.st_mode & 0777U);
    return;
  }
  // Never set-user-ID and its kin: the file that they were meant for is gone.
  ::fchmod(fd, old.st_mode & 0777U);
}

/// Whether `error` says that no file may be made in the folder: a file in it may still be writable
/// (a container's termination log, for a user who is not root).
bool is_closed_folder(int error) { return error == EACCES || error == EPERM || error == EROFS; }

/// Writes a new file beside `path` and renames it: rename only replaces within one file system.
/// `old` is the file there now, or nullptr.
Result<void> replace_file(const std::string& path, const struct stat* old, std::string_view bytes) {
  // A name that does not depend on path's: that may be as long as names can be.
  std::string temporary = path.substr(0, path.rfind('/') + 1) + ".cudart-doctor.XXXXXX";
  const UniqueFd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd.valid()) {
    const int error = errno;
    if (old != nullptr && is_closed_folder(error))
      return write_opened(path, O_TRUNC | O_NOFOLLOW, &is_regular, bytes);
    return cannot_write(path, error);
  }
  const auto written = write_all(fd.get(), bytes);
  if (!written) {
    ::unlink(temporary.c_str());
    return cannot_write(path, written.error().sys_errno);
  }
  if (old != nullptr) {
    take_over(fd.get(), *old);
  } else {
    ::fchmod(fd.get(), usual_mode());
  }
  if (::rename(temporary.c_str(), path.c_str()) == 0) return {};
  const int error = errno;
  ::unlink(temporary.c_str());
  // A bind-mounted file cannot be renamed over; nor can, in a sticky folder, another user's.
  if (error == EBUSY || (old != nullptr && is_closed_folder(error))) {
    return write_opened(path, O_TRUNC | O_NOFOLLOW, &is_regular, bytes);
  }
  return cannot_write(path, error);
}

bool is_strangers(const struct stat& link) {
  return link.st_uid != 0 && link.st_uid != ::geteuid();
}

/// `path` with its links followed, so that a link stays one and its target is replaced.
std::string followed(const std::string& path) {
  char* const real = ::realpath(path.c_str(), nullptr);
  if (real == nullptr) return path;
  std::string out(real);
  std::free(real);
  return out;
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

bool is_strangers_link(const std::string& path) {
  struct stat link{};
  return ::lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode) && is_strangers(link);
}

Result<void> write_output(const std::string& path, std::string_view bytes) {
  if (path == "-") {
    const auto written = write_all(STDOUT_FILENO, bytes);
    if (!written && written.error().sys_errno != EPIPE) {
      return cannot_write("standard output", written.error().sys_errno);
    }
    return {};
  }
  struct stat link{};
  const bool is_link = ::lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode);
  if (is_link && is_strangers(link)) return cannot_write(path, ELOOP);
  struct stat status{};
  if (::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) return cannot_write(path, EISDIR);
    if (!S_ISREG(status.st_mode)) {
      return write_opened(path, is_link ? 0 : O_NOFOLLOW, &is_no_regular, bytes);
    }
    const std::string target = is_link ? followed(path) : path;
    // Owner and mode are those of the very name that is replaced: no link, even if one came since.
    if (::lstat(target.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) {
      return cannot_write(path, ELOOP);
    }
    return replace_file(target, &status, bytes);
  }
  // A link to nothing: the file is made where it leads.
  if (is_link) return write_opened(path, O_CREAT, &is_new, bytes);
  return replace_file(path, nullptr, bytes);
}

Result<void> check_output(const std::string& path) {
  if (path == "-") return {};
  struct stat status{};
  const bool is_there = ::stat(path.c_str(), &status) == 0;
  if (is_there && S_ISDIR(status.st_mode)) return cannot_write(path, EISDIR);
  const auto refused = [](const std::string& where, int mode) {
    return ::faccessat(AT_FDCWD, where.c_str(), mode, AT_EACCESS) == 0 ? 0 : errno;
  };
  // Written in place, or replaced where the folder allows it.
  if (is_there && refused(path, W_OK) == 0) return {};
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const int error = refused(folder, W_OK | X_OK);
  return error == 0 ? Result<void>() : cannot_write(path, error);
}

}  // namespace cudart_doctor
