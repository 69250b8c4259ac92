// Paths as the target sees them: looked up inside /proc/PID/root, so that neither an absolute link
// nor ".." leads out of it. A path is looked at before it is opened: a FIFO, a device or a socket
// is never opened for reading.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/model/maps.hpp"
#include "cudart_doctor/sys/proc_root.hpp"
#include "cudart_doctor/sys/unique_fd.hpp"

namespace cudart_doctor {

/// What stat says of a path, as far as it is used.
struct PathStat {
  FileKey key;
  std::uint32_t mode = 0;  ///< st_mode.
  std::uint64_t size = 0;
  [[nodiscard]] bool is_regular() const { return S_ISREG(mode); }
  [[nodiscard]] bool is_directory() const { return S_ISDIR(mode); }
  /// "FIFO", "socket", "character device", ...
  [[nodiscard]] std::string type_name() const;
};

/// stat of an open descriptor (also one opened with O_PATH).
Result<PathStat> stat_descriptor(int fd, std::string_view what);

/// A path that was looked up: an O_PATH descriptor and what lies there.
struct FoundPath {
  UniqueFd fd;
  PathStat info;
};

/// A regular file open for reading.
struct OpenedFile {
  UniqueFd fd;
  PathStat info;
};

/// The names in directories that were read. Several threads may use one.
class DirectoryCache {
 public:
  /// nullptr where the directory is not kept. Each name ends with a NUL.
  [[nodiscard]] const std::string* find(const FileKey& directory) const;
  /// Keeps the names, unless they take more room than is left.
  void keep(const FileKey& directory, std::string names);

  /// Bytes of one directory's names that are worth keeping, and of all.
  static constexpr std::size_t kMostOfOne = 1U << 20U;
  static constexpr std::size_t kMostOfAll = 8U << 20U;

 private:
  mutable std::mutex lock_;
  std::map<FileKey, std::string> names_;  ///< Entries stay as they are for good.
  std::size_t size_ = 0;
};

class TargetFiles {
 public:
  /// Holds the target's root directory; stays usable after the target's end. Errors: permission,
  /// gone, io.
  static Result<TargetFiles> open(const ProcDirectory& process);

  /// Looks `path` (absolute, in the target's view) up, symbolic links followed inside the root.
  /// Errors: not_found, permission, io.
  [[nodiscard]] Result<FoundPath> find(const std::string& path) const;
  /// find() without keeping the descriptor: one statx where the target's root is our own.
  [[nodiscard]] Result<PathStat> stat(const std::string& path) const;
  /// Opens a found path for reading. Errors: unsupported (no regular file), permission, io.
  [[nodiscard]] Result<OpenedFile> open_regular(const FoundPath& found,
                                                std::string_view shown) const;
  /// Whole contents of a small regular file. Errors: as above; limit.
  [[nodiscard]] Result<std::string> read_text(const std::string& path, std::uint64_t cap) const;
  /// Path after symbolic links, inside the target's root.
  [[nodiscard]] Result<std::string> real_path(const FoundPath& found) const;
  /// Names in a found directory that contain `filter`, sorted; `cap` names at most (error limit). A
  /// directory is read once, unless it is very large: later answers are of that moment.
  [[nodiscard]] Result<std::vector<std::string>> list(const FoundPath& found,
                                                      std::string_view filter,
                                                      std::size_t cap) const;
  /// What the user should know of this look-up ("the kernel has no openat2").
  [[nodiscard]] const std::string& note() const { return note_; }
  /// True where the target's mount namespace and root directory are our own.
  [[nodiscard]] bool is_own_root() const { return own_root_; }

 private:
  enum class Method : std::uint8_t { openat2, plain, none };
  TargetFiles(UniqueFd root, std::string prefix, ProcDirectory own)
      : root_(std::move(root)),
        prefix_(std::move(prefix)),
        own_(std::move(own)),
        listed_(std::make_unique<DirectoryCache>()) {}
  void choose_method();

  UniqueFd root_;
  std::string prefix_;  ///< The root as our own view shows it, without a final '/'.
  ProcDirectory own_;   ///< /proc/self: found paths are opened and named through it.
  Method method_ = Method::openat2;
  bool own_root_ = false;
  std::string note_;
  std::unique_ptr<DirectoryCache> listed_;
};

}  // namespace cudart_doctor
