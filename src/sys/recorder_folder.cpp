#include "recorder_folder.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

namespace cudart_doctor {
namespace {

tl::unexpected<Error> failed(const char* what, int error) {
  return fail(ErrorKind::io, std::string(what) + ": " + std::strerror(error), error);
}

/// Why others could change what is in a folder; "" where they cannot. Who owns the root of the file
/// system can do all anyway; in a user namespace that may be a user without a name.
std::string why_open_to_others(const struct stat& folder, uid_t owner_of_root) {
  const uid_t owner = folder.st_uid;
  if (owner != ::geteuid() && owner != 0 && owner != owner_of_root)
    return "belongs to another user";
  if ((folder.st_mode & S_ISVTX) != 0) return {};
  if ((folder.st_mode & S_IWOTH) != 0) return "can be written by everybody and is not sticky";
  const bool own_group = folder.st_gid == ::getegid() || folder.st_gid == 0;
  if ((folder.st_mode & S_IWGRP) != 0 && !own_group) return "can be written by another group";
  return {};
}

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace

Result<std::string> sound_place(const std::string& place) {
  const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(place.c_str(), nullptr),
                                                             &std::free);
  if (!resolved) return failed("it is not there", errno);
  const std::string path(resolved.get());
  struct stat root = {};
  if (::lstat("/", &root) != 0) return failed("the root folder cannot be looked at", errno);
  // Who can rename a folder above it can put another in its place.
  for (std::string above = path; !above.empty(); above.resize(above.rfind('/'))) {
    struct stat facts = {};
    if (::lstat(above.c_str(), &facts) != 0) return failed("it cannot be looked at", errno);
    const std::string reason = why_open_to_others(facts, root.st_uid);
    if (reason.empty()) continue;
    return fail(ErrorKind::io, above == path ? "it " + reason : "a folder above it " + reason);
  }
  return path;
}

Result<RecorderFolder> RecorderFolder::make(const std::string& place, const std::string& name) {
  const UniqueFd at(::open(place.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!at.valid()) return failed("it cannot be opened", errno);
  if (::mkdirat(at.get(), name.c_str(), 0700) != 0) return failed("no folder can be made", errno);
  auto folder = open(at.get(), name);
  if (folder && ::fchmod(folder->descriptor(), 0711) != 0) {
    const int error = errno;
    folder->remove();
    return failed("the folder's mode cannot be set", error);
  }
  return folder;
}

Result<RecorderFolder> RecorderFolder::open(int place, const std::string& name) {
  RecorderFolder folder;
  folder.name_ = name;
  folder.place_ = UniqueFd(::fcntl(place, F_DUPFD_CLOEXEC, 3));
  folder.folder_ =
      UniqueFd(::openat(place, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat facts = {};
  if (!folder.place_.valid() || !folder.valid() || ::fstat(folder.descriptor(), &facts) != 0) {
    return failed("the folder cannot be opened", errno);
  }
  if (facts.st_uid != ::geteuid()) return fail(ErrorKind::io, "the folder belongs to another user");
  return folder;
}

void RecorderFolder::remove_socket() const { ::unlinkat(descriptor(), kRecorderSocket, 0); }

void RecorderFolder::remove() const {
  remove_socket();
  ::unlinkat(descriptor(), kRecorderLibrary, 0);
  struct stat held = {};
  struct stat named = {};
  if (::fstat(descriptor(), &held) != 0 ||
      ::fstatat(place_.get(), name_.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0) {
    return;
  }
  if (is_same(held, named)) ::unlinkat(place_.get(), name_.c_str(), AT_REMOVEDIR);
}

}  // namespace cudart_doctor
