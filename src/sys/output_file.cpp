#include "cudart_doctor/sys/output_file.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/sys/place.hpp"
#include "cudart_doctor/sys/unique_fd.hpp"

namespace cudart_doctor {
namespace {

tl::unexpected<Error> cannot_write(const std::string& path, int error) {
  return fail(ErrorKind::usage,
              "cannot write " + escape_foreign(path) + ": " + std::strerror(error), error);
}

/// What find() said, as a sentence on the whole path.
tl::unexpected<Error> cannot_write(const std::string& path, const Error& error) {
  if (error.sys_errno != 0) return cannot_write(path, error.sys_errno);
  return fail(ErrorKind::usage, "cannot write " + escape_foreign(path) + ": " + error.message);
}

/// `is_regular`: what was seen there. Another thing may have taken its place since.
Result<void> write_in_place(const std::string& path, const Place& place, bool is_regular,
                            std::string_view bytes) {
  const int no_link = place.is_kernel_link() ? 0 : O_NOFOLLOW;
  const UniqueFd fd(
      ::openat(place.folder(), place.name(), O_WRONLY | O_CLOEXEC | O_NOCTTY | no_link));
  if (!fd.valid()) return cannot_write(path, errno);
  struct stat status{};
  if (::fstat(fd.get(), &status) != 0) return cannot_write(path, errno);
  if (S_ISREG(status.st_mode) != is_regular || place.is_strangers(status)) {
    return fail(ErrorKind::usage, "cannot write " + escape_foreign(path) +
                                      ": something else took its place meanwhile");
  }
  if (is_regular && ::ftruncate(fd.get(), 0) != 0) return cannot_write(path, errno);
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

/// While it lives a file that was begun is finished: what ends the program lets its child end
/// first. SIGKILL for the child itself cannot be kept away.
class Unfinished {
 public:
  Unfinished() {
    sigset_t ending;
    ::sigemptyset(&ending);
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::sigaddset(&ending, number);
    ::sigprocmask(SIG_BLOCK, &ending, &before_);
    ::prctl(PR_GET_PDEATHSIG, &with_parent_);
    ::prctl(PR_SET_PDEATHSIG, 0);
  }
  ~Unfinished() {
    ::prctl(PR_SET_PDEATHSIG, with_parent_);
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  }
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;

 private:
  sigset_t before_{};
  int with_parent_ = 0;
};

/// A new file in the folder of `place`, of mode 0600, and its name there. Errors: io with errno.
Result<std::pair<UniqueFd, std::string>> make_temporary(const Place& place) {
  constexpr int kTries = 100;
  int error = EEXIST;
  for (int i = 0; i < kTries && error == EEXIST; ++i) {
    std::uint64_t random = 0;
    if (::getrandom(&random, sizeof random, 0) != sizeof random) random = std::uint64_t(::getpid());
    // A name that does not depend on the place's: that may be as long as names can be.
    std::string name = ".cudart-doctor." + std::to_string(random + std::uint64_t(i));
    UniqueFd fd(::openat(place.folder(), name.c_str(),
                         O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (fd.valid()) return std::pair(std::move(fd), std::move(name));
    error = errno;
  }
  return fail(ErrorKind::io, std::strerror(error), error);
}

/// Writes a new file beside `place` and renames it: rename only replaces within one file system.
/// `old` is the file there now, or nullptr.
Result<void> replace_file(const std::string& path, const Place& place, const struct stat* old,
                          std::string_view bytes) {
  const Unfinished unfinished;
  const auto made = make_temporary(place);
  if (!made) {
    const int error = made.error().sys_errno;
    if (old != nullptr && is_closed_folder(error)) return write_in_place(path, place, true, bytes);
    return cannot_write(path, error);
  }
  const auto& [fd, temporary] = *made;
  const auto remove = [&place, &name = temporary] { ::unlinkat(place.folder(), name.c_str(), 0); };
  const auto written = write_all(fd.get(), bytes);
  if (!written) {
    remove();
    return cannot_write(path, written.error().sys_errno);
  }
  if (old != nullptr) {
    take_over(fd.get(), *old);
  } else {
    ::fchmod(fd.get(), usual_mode());
  }
  if (::renameat(place.folder(), temporary.c_str(), place.folder(), place.name()) == 0) return {};
  const int error = errno;
  remove();
  // A bind-mounted file cannot be renamed over; nor can, in a sticky folder, another user's.
  if (error == EBUSY || (old != nullptr && is_closed_folder(error))) {
    return write_in_place(path, place, true, bytes);
  }
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
  const auto place = Place::find(path);
  if (!place) return cannot_write(path, place.error());
  const auto there = place->look();
  if (!there) return cannot_write(path, there.error());
  if (!*there) {
    return path.ends_with('/') ? cannot_write(path, EISDIR)
                               : replace_file(path, *place, nullptr, bytes);
  }
  const struct stat& old = **there;
  if (S_ISDIR(old.st_mode)) return cannot_write(path, EISDIR);
  if (path.ends_with('/')) return cannot_write(path, ENOTDIR);
  if (place->is_strangers(old)) {
    return fail(ErrorKind::usage,
                "cannot write " + escape_foreign(path) +
                    ": another user's, in a folder to which all may write; that user could read or "
                    "change the report: remove it, or name a place in a folder of your own");
  }
  if (!S_ISREG(old.st_mode) || place->is_kernel_link()) {
    return write_in_place(path, *place, S_ISREG(old.st_mode), bytes);
  }
  return replace_file(path, *place, &old, bytes);
}

Result<void> check_output(const std::string& path) {
  if (path == "-") return {};
  const auto place = Place::find(path);
  if (!place) return cannot_write(path, place.error());
  const auto there = place->look();
  if (!there) return cannot_write(path, there.error());
  if (*there && S_ISDIR((*there)->st_mode)) return cannot_write(path, EISDIR);
  const auto refused = [&place](const char* name, int mode) {
    return ::faccessat(place->folder(), name, mode, AT_EACCESS) == 0 ? 0 : errno;
  };
  // Written in place, or replaced where the folder allows it.
  if (*there && refused(place->name(), W_OK) == 0) return {};
  const int error = refused(".", W_OK | X_OK);
  return error == 0 ? Result<void>() : cannot_write(path, error);
}

}  // namespace cudart_doctor
