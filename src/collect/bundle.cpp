#include "cudart_doctor/collect/bundle.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <string_view>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/sys/new_folder.hpp"
#include "cudart_doctor/sys/proc_root.hpp"
#include "cudart_doctor/sys/unique_fd.hpp"

namespace cudart_doctor {
namespace {

constexpr std::uint64_t kMaxFile = 256u << 20;
constexpr const char* kJsonName = "snapshot.json";
constexpr const char* kMapsName = "maps";

/// A file that could not be written is not left there.
Result<void> write_file(int directory, const char* name, std::string_view bytes) {
  UniqueFd fd(
      ::openat(directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd.valid()) return tl::unexpected(system_error(errno, name, Need::file_access));
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int error = errno;
      ::unlinkat(directory, name, 0);
      return tl::unexpected(system_error(error, name, Need::file_access));
    }
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

/// Both files, or none of them.
Result<void> write_files(int folder, const Snapshot& snapshot) {
  // The JSON last: a bundle without it is one that was not finished.
  auto done = write_file(folder, kMapsName, snapshot.maps.text);
  if (!done) return done;
  done = write_file(folder, kJsonName, snapshot_to_json(snapshot));
  if (!done) ::unlinkat(folder, kMapsName, 0);
  return done;
}

Result<std::string> read_file(const ProcDirectory& directory, const char* name) {
  const std::string shown = directory.shown(name);
  UniqueFd fd(
      ::openat(directory.fd(), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd.valid() && errno == ELOOP) {
    return fail(ErrorKind::malformed, escape_foreign(shown) + ": a symbolic link, not followed",
                ELOOP);
  }
  if (!fd.valid()) return tl::unexpected(system_error(errno, shown, Need::file_access));
  struct stat info = {};
  if (::fstat(fd.get(), &info) != 0) {
    return tl::unexpected(system_error(errno, shown, Need::file_access));
  }
  if (!S_ISREG(info.st_mode)) {
    return fail(ErrorKind::malformed, escape_foreign(shown) + ": not a regular file");
  }
  if (info.st_size > static_cast<off_t>(kMaxFile)) {
    return fail(ErrorKind::limit, escape_foreign(shown) + ": larger than 256 MiB");
  }
  return read_descriptor(fd.get(), shown, kMaxFile);
}

}  // namespace

Result<void> write_bundle(const Snapshot& snapshot, const std::string& directory) {
  const auto folder = NewFolder::make(directory);
  if (!folder) return tl::unexpected(folder.error());
  auto done = write_files(folder->fd(), snapshot);
  // With nothing left the same command can be given again.
  if (!done) folder->remove();
  return done;
}

Result<Snapshot> read_bundle(const std::string& directory) {
  auto folder = ProcDirectory::open(directory);
  if (!folder) return tl::unexpected(folder.error());
  auto json = read_file(*folder, kJsonName);
  if (!json) return tl::unexpected(json.error());
  auto maps = read_file(*folder, kMapsName);
  if (!maps) return tl::unexpected(maps.error());
  return snapshot_from_json(*json, std::move(*maps), folder->shown(kJsonName));
}

}  // namespace cudart_doctor
