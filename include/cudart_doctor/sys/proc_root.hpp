// /proc and /proc/PID as directories held by a descriptor: everything below is opened relative to
// it, so that a reused PID gives ESRCH and never another process.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/sys/unique_fd.hpp"

namespace cudart_doctor {

/// What the kernel asks for where it refuses: named in the error text.
enum class Need : std::uint8_t {
  same_user,           ///< ptrace read access: maps, environ, exe, root, fd, memory.
  memory,              ///< ptrace attach access: memory, which Yama restricts too.
  checkpoint_restore,  ///< Following a link in map_files.
  file_access,         ///< Ordinary file permission.
};

/// The error for a failed system call on `what`: kind by errno, text with the file, errno's text
/// and, where permission was refused, what would be needed.
Error system_error(int error, std::string_view what, Need need);

/// Reads the whole of an open file in big chunks. Errors: limit (more than `cap` bytes), io, gone.
Result<std::string> read_descriptor(int fd, std::string_view what, std::uint64_t cap);

/// The same; `grown` sees the text after each piece. The next one leaves its bytes where they are
/// as long as kReadPiece more fit in.
inline constexpr std::size_t kReadPiece = 64u << 10;
Result<std::string> read_descriptor(int fd, std::string_view what, std::uint64_t cap,
                                    const std::function<void(std::string& text)>& grown);

class ProcDirectory {
 public:
  static constexpr std::uint64_t kUsualCap = 64u << 20;

  /// Opens a directory such as "/proc" (or a folder that looks like it).
  static Result<ProcDirectory> open(const std::string& path);
  /// A directory that is open already; `path` is for messages.
  static ProcDirectory adopt(UniqueFd fd, std::string path) {
    return {std::move(fd), std::move(path)};
  }
  /// Opens a directory below this one.
  [[nodiscard]] Result<ProcDirectory> child(const std::string& name) const;

  /// Opens a file below this directory for reading. Errors as system_error says.
  [[nodiscard]] Result<UniqueFd> open_file(const std::string& name) const;
  /// Whole contents of a file below this directory, of any kind of size (files in /proc have none).
  [[nodiscard]] Result<std::string> read_file(const std::string& name,
                                              std::uint64_t cap = kUsualCap) const;
  /// Target text of a link, as bytes.
  [[nodiscard]] Result<std::string> read_link(const std::string& name) const;
  /// stat of a file below this directory, links followed.
  [[nodiscard]] Result<struct stat> stat_file(const std::string& name) const;
  /// Names in a directory below this one ("." is this one), sorted, without "." and "..".
  [[nodiscard]] Result<std::vector<std::string>> list(const std::string& name) const;
  /// The numbers among the names of this directory: process IDs, ascending.
  [[nodiscard]] Result<std::vector<std::int64_t>> list_pids() const;

  /// True where this lies on a procfs and not in a folder that only looks like one.
  [[nodiscard]] bool is_procfs() const;
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  /// "/proc/4121/maps", for messages.
  [[nodiscard]] std::string shown(std::string_view name) const;

 private:
  ProcDirectory(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  UniqueFd fd_;
  std::string path_;
};

}  // namespace cudart_doctor
