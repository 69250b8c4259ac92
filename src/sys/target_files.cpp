#include "cudart_doctor/sys/target_files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

constexpr int kReadFlags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

int open_in_root(int root, const char* path) {
  open_how how = {};
  how.flags = O_PATH | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  // EAGAIN: a rename or mount elsewhere raced with "..", and the kernel asks to try again.
  constexpr int kTries = 16;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const long fd = ::syscall(SYS_openat2, root, path, &how, sizeof how);
    if (fd >= 0 || (errno != EAGAIN && errno != EINTR)) return static_cast<int>(fd);
  }
  return -1;
}

/// Path relative to the root: openat and statx would take an absolute one as ours.
const char* relative(const std::string& path) {
  const std::size_t begin = path.find_first_not_of('/');
  return begin == std::string::npos ? "." : path.c_str() + begin;
}

bool same_place(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/// A descriptor of ours, below /proc/self.
std::string own_fd(int fd) { return "fd/" + std::to_string(fd); }

}  // namespace

std::string PathStat::type_name() const {
  if (S_ISREG(mode)) return "regular file";
  if (S_ISDIR(mode)) return "directory";
  if (S_ISFIFO(mode)) return "FIFO";
  if (S_ISSOCK(mode)) return "socket";
  if (S_ISCHR(mode)) return "character device";
  if (S_ISBLK(mode)) return "block device";
  return "special file";
}

Result<PathStat> stat_descriptor(int fd, std::string_view what) {
  struct stat info = {};
  if (::fstat(fd, &info) != 0) {
    return tl::unexpected(system_error(errno, what, Need::file_access));
  }
  PathStat result;
  result.key = {major(info.st_dev), minor(info.st_dev), info.st_ino};
  result.mode = info.st_mode;
  result.size = info.st_size > 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
  return result;
}

const std::string* DirectoryCache::find(const FileKey& directory) const {
  const std::lock_guard guard(lock_);
  const auto at = names_.find(directory);
  return at == names_.end() ? nullptr : &at->second;
}

void DirectoryCache::keep(const FileKey& directory, std::string names) {
  const std::lock_guard guard(lock_);
  if (names.size() > kMostOfOne || names.size() > kMostOfAll - size_) return;
  const std::size_t size = names.size();
  if (names_.try_emplace(directory, std::move(names)).second) size_ += size;
}

Result<TargetFiles> TargetFiles::open(const ProcDirectory& process) {
  UniqueFd root(::openat(process.fd(), "root", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) {
    return tl::unexpected(system_error(errno, process.shown("root"), Need::same_user));
  }
  auto own = ProcDirectory::open("/proc/self");
  if (!own) return tl::unexpected(own.error());
  auto prefix = own->read_link(own_fd(root.get()));
  if (!prefix) return tl::unexpected(prefix.error());
  while (!prefix->empty() && prefix->back() == '/') prefix->pop_back();

  TargetFiles files(std::move(root), std::move(*prefix), std::move(*own));
  struct stat target_root = {};
  auto own_root = files.own_.stat_file("root");
  auto own_mounts = files.own_.read_link("ns/mnt");
  auto target_mounts = process.read_link("ns/mnt");
  files.own_root_ = ::fstat(files.root_.get(), &target_root) == 0 && own_root &&
                    same_place(target_root, *own_root) && own_mounts && target_mounts &&
                    *own_mounts == *target_mounts;
  files.choose_method();
  return files;
}

void TargetFiles::choose_method() {
  const UniqueFd probe(open_in_root(root_.get(), "/"));
  if (probe.valid()) return;
  // ENOSYS before Linux 5.6; EPERM from container filters older than the call.
  note_ = "openat2 is not available (" + system_error(errno, "openat2", Need::file_access).message +
          "); ";
  method_ = own_root_ ? Method::plain : Method::none;
  note_ += own_root_ ? "paths were opened without it, which is safe in the same root directory"
                     : "paths of another root directory were not opened";
}

Result<FoundPath> TargetFiles::find(const std::string& path) const {
  if (path.empty() || path.front() != '/') {
    return fail(ErrorKind::not_found, escape_foreign(path) + ": no absolute path");
  }
  if (path.find('\0') != std::string::npos) {
    return fail(ErrorKind::not_found, escape_foreign(path) + ": holds a NUL byte");
  }
  int fd = -1;
  switch (method_) {
    case Method::openat2: fd = open_in_root(root_.get(), path.c_str()); break;
    case Method::plain: fd = ::openat(root_.get(), relative(path), O_PATH | O_CLOEXEC); break;
    case Method::none: return fail(ErrorKind::unsupported, escape_foreign(path) + ": " + note_);
  }
  FoundPath found;
  found.fd = UniqueFd(fd);
  if (fd < 0) return tl::unexpected(system_error(errno, path, Need::file_access));
  auto info = stat_descriptor(fd, path);
  if (!info) return tl::unexpected(info.error());
  found.info = *info;
  return found;
}

Result<PathStat> TargetFiles::stat(const std::string& path) const {
  // In our own root a stat relative to it cannot lead anywhere that find() would not.
  if (own_root_ && !path.empty() && path.front() == '/' && path.find('\0') == std::string::npos) {
    struct statx info = {};
    if (::statx(root_.get(), relative(path), AT_STATX_SYNC_AS_STAT | AT_NO_AUTOMOUNT,
                STATX_TYPE | STATX_INO | STATX_SIZE, &info) == 0) {
      PathStat result;
      result.key = {info.stx_dev_major, info.stx_dev_minor, info.stx_ino};
      result.mode = info.stx_mode;
      result.size = info.stx_size;
      return result;
    }
    return tl::unexpected(system_error(errno, path, Need::file_access));
  }
  auto found = find(path);
  if (!found) return tl::unexpected(found.error());
  return found->info;
}

Result<OpenedFile> TargetFiles::open_regular(const FoundPath& found, std::string_view shown) const {
  if (!found.info.is_regular()) {
    return fail(ErrorKind::unsupported,
                escape_foreign(shown) + ": not opened, it is a " + found.info.type_name());
  }
  OpenedFile file;
  file.info = found.info;
  file.fd = UniqueFd(::openat(own_.fd(), own_fd(found.fd.get()).c_str(), kReadFlags));
  if (!file.fd.valid()) return tl::unexpected(system_error(errno, shown, Need::file_access));
  return file;
}

Result<std::string> TargetFiles::read_text(const std::string& path, std::uint64_t cap) const {
  auto found = find(path);
  if (!found) return tl::unexpected(found.error());
  auto file = open_regular(*found, path);
  if (!file) return tl::unexpected(file.error());
  return read_descriptor(file->fd.get(), path, cap);
}

Result<std::string> TargetFiles::real_path(const FoundPath& found) const {
  auto text = own_.read_link(own_fd(found.fd.get()));
  if (!text) return text;
  if (!prefix_.empty() && text->starts_with(prefix_ + "/")) return text->substr(prefix_.size());
  if (!prefix_.empty() && *text == prefix_) return std::string("/");
  return text;
}

Result<std::vector<std::string>> TargetFiles::list(const FoundPath& found, std::string_view filter,
                                                   std::size_t cap) const {
  const auto too_many = [&] {
    return fail(ErrorKind::limit, "more than " + std::to_string(cap) + " names");
  };
  std::vector<std::string> names;
  if (const std::string* kept = listed_->find(found.info.key)) {
    for (std::string_view rest = *kept; !rest.empty();) {
      const std::string_view name = rest.substr(0, rest.find('\0'));
      rest.remove_prefix(name.size() + 1);
      if (name.find(filter) == std::string_view::npos) continue;
      if (names.size() >= cap) return too_many();
      names.emplace_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  UniqueFd fd(::openat(own_.fd(), own_fd(found.fd.get()).c_str(), kReadFlags | O_DIRECTORY));
  if (!fd.valid()) return tl::unexpected(system_error(errno, "directory", Need::file_access));
  const std::unique_ptr<DIR, CloseDir> dir(::fdopendir(fd.get()));
  if (!dir) return tl::unexpected(system_error(errno, "directory", Need::file_access));
  static_cast<void>(fd.release());
  std::string all;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(dir.get());
    if (entry == nullptr) break;
    const std::string_view name(entry->d_name);
    if (name == "." || name == "..") continue;
    if (all.size() <= DirectoryCache::kMostOfOne) all.append(name).push_back('\0');
    if (name.find(filter) == std::string_view::npos) continue;
    if (names.size() >= cap) return too_many();
    names.emplace_back(name);
  }
  if (errno != 0) return tl::unexpected(system_error(errno, "directory", Need::file_access));
  listed_->keep(found.info.key, std::move(all));
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace cudart_doctor
