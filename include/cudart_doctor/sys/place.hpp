// Where something is to be written: a name in a folder that is held open.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>
#include <utility>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/sys/unique_fd.hpp"

namespace cudart_doctor {

/// The end of a path whose every link was followed by us, and so was judged: what happens to the
/// path afterwards leads nowhere else. The kernel's protected_symlinks guards sticky folders alone,
/// and is off in some places.
class Place {
 public:
  /// Looks where `path` leads; nothing needs to be there yet. Links of root and of the caller are
  /// followed, the last part of the path among them; so is what the kernel itself shows as a link
  /// (/proc/PID/root, /dev/stdout). Slashes at the end are left out. Errors, which name the part of
  /// the path: usage (another user's link), and as system_error says.
  static Result<Place> find(const std::string& path);

  /// For openat() and its kin, with name(): never a link, unless is_kernel_link().
  [[nodiscard]] int folder() const { return folder_.get(); }
  [[nodiscard]] const char* name() const { return name_.c_str(); }
  /// The last part is a link in /proc that has no path behind it (a pipe, an open file): only the
  /// kernel can follow it.
  [[nodiscard]] bool is_kernel_link() const { return is_kernel_link_; }

  /// What is there now; a kernel's link is followed. Nothing: not there. Errors: as system_error.
  [[nodiscard]] Result<std::optional<struct stat>> look() const;

  /// Whether `there` was laid by another user, root excepted, into a folder to which all may write
  /// but where each keeps what is his (/tmp): that user can change, or read, what is written to it.
  [[nodiscard]] bool is_strangers(const struct stat& there) const;

 private:
  Place(UniqueFd folder, std::string name, bool is_kernel_link)
      : folder_(std::move(folder)), name_(std::move(name)), is_kernel_link_(is_kernel_link) {}

  UniqueFd folder_;
  std::string name_;
  bool is_kernel_link_ = false;
};

}  // namespace cudart_doctor
