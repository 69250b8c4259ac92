#include "cudart_doctor/sys/place.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <string_view>
#include <utility>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/sys/proc_root.hpp"

namespace cudart_doctor {
namespace {

constexpr int kMostLinks = 40;  // As the kernel's own.

tl::unexpected<Error> refused(const std::string& path, int error) {
  return tl::unexpected(system_error(error, path, Need::file_access));
}

bool is_another_user(uid_t owner) { return owner != 0 && owner != ::geteuid(); }

/// Whether `owner` says no more than that the user has no number in this user namespace: there even
/// the machine's root, to whom the links of its system directories belong, has this one.
bool is_unmapped(uid_t owner) {
  constexpr uid_t kOverflow = 65534;
  if (owner != kOverflow) return false;
  const auto proc = ProcDirectory::open("/proc/self");
  const auto map = proc ? proc->read_file("uid_map") : tl::unexpected(proc.error());
  // Whoever cannot see takes a stranger for one.
  return map && map->find("4294967295") == std::string::npos;
}

/// A path that is walked part by part.
class Walk {
 public:
  explicit Walk(std::string path) : path_(path), left_(std::move(path)) {}

  /// Errors: as Place::find.
  Result<void> go() {
    if (left_.empty()) return refused(path_, ENOENT);
    auto begun = begin();
    while (begun && take_part()) begun = step();
    return begun;
  }

  UniqueFd folder;
  std::string name = ".";  ///< The last part.
  bool is_kernel_link = false;

 private:
  [[nodiscard]] bool at_end() const { return left_.empty(); }

  /// Opens the folder that what is left begins in.
  Result<void> begin() {
    const bool absolute = left_.starts_with('/');
    if (folder.valid() && !absolute) return {};
    folder = UniqueFd(::open(absolute ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    return folder.valid() ? Result<void>() : refused(path_, errno);
  }

  /// False: there is no further part.
  bool take_part() {
    left_.erase(0, left_.find_first_not_of('/'));
    if (left_.empty()) return false;
    const std::size_t end = left_.find('/');
    name = left_.substr(0, end);
    left_.erase(0, end == std::string::npos ? left_.size() : left_.find_first_not_of('/', end));
    return true;
  }

  Result<void> step() {
    // As a folder: so the kernel mounts what is mounted on demand (autofs).
    if (!at_end() && enter(O_NOFOLLOW)) return {};
    UniqueFd part(::openat(folder.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!part.valid()) return at_end() && errno == ENOENT ? Result<void>() : refused(name, errno);
    struct stat status{};
    if (::fstat(part.get(), &status) != 0) return refused(name, errno);
    if (!S_ISLNK(status.st_mode)) return at_end() ? Result<void>() : refused(name, ENOTDIR);
    if (++links_ > kMostLinks) return refused(path_, ELOOP);
    struct statfs system{};
    if (::fstatfs(part.get(), &system) != 0) return refused(name, errno);
    if (system.f_type == PROC_SUPER_MAGIC) return follow_by_kernel();
    if (is_another_user(status.st_uid) && !is_systems(status)) {
      return fail(ErrorKind::usage,
                  escape_foreign(name) +
                      " is a symbolic link of another user, not followed: name where it leads");
    }
    return follow(part.get());
  }

  /// False, with errno: the part is no folder that can be entered.
  bool enter(int no_link) {
    UniqueFd part(::openat(folder.get(), name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | no_link));
    if (!part.valid()) return false;
    folder = std::move(part);
    return true;
  }

  /// A link of somebody without a number here, in a folder of the same to which nobody else writes.
  [[nodiscard]] bool is_systems(const struct stat& link) const {
    struct stat around{};
    return is_unmapped(link.st_uid) && ::fstatat(folder.get(), ".", &around, 0) == 0 &&
           around.st_uid == link.st_uid && (around.st_mode & 0022U) == 0;
  }

  Result<void> follow_by_kernel() {
    if (at_end()) {
      is_kernel_link = true;
      return {};
    }
    return enter(0) ? Result<void>() : refused(name, errno);
  }

  Result<void> follow(int link) {
    std::array<char, PATH_MAX> text;
    const ssize_t size = ::readlinkat(link, "", text.data(), text.size());
    if (size < 0) return refused(name, errno);
    const std::string_view target(text.data(), static_cast<std::size_t>(size));
    left_ = at_end() ? std::string(target) : std::string(target) + "/" + left_;
    name = ".";
    return begin();
  }

  std::string path_;
  std::string left_;
  int links_ = 0;
};

}  // namespace

Result<Place> Place::find(const std::string& path) {
  Walk walk(path);
  const auto gone = walk.go();
  if (!gone) return tl::unexpected(gone.error());
  return Place(std::move(walk.folder), std::move(walk.name), walk.is_kernel_link);
}

Result<std::optional<struct stat>> Place::look() const {
  struct stat status{};
  if (::fstatat(folder(), name(), &status, is_kernel_link_ ? 0 : AT_SYMLINK_NOFOLLOW) == 0) {
    return status;
  }
  if (errno == ENOENT) return std::nullopt;
  return refused(name_, errno);
}

bool Place::is_strangers(const struct stat& there) const {
  if (is_kernel_link_ || !is_another_user(there.st_uid)) return false;
  struct stat around{};
  if (::fstatat(folder(), ".", &around, 0) != 0) return false;
  const bool for_all = (around.st_mode & S_ISVTX) != 0 && (around.st_mode & 0022U) != 0;
  // Users without a number all look alike.
  return for_all && (there.st_uid != around.st_uid || is_unmapped(there.st_uid));
}

}  // namespace cudart_doctor
