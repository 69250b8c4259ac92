#include "cudart_doctor/sys/proc_root.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

ErrorKind kind_of(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR: return ErrorKind::not_found;
    case ESRCH: return ErrorKind::gone;
    case EACCES:
    case EPERM: return ErrorKind::permission;
    default: return ErrorKind::io;
  }
}

std::string_view need_text(Need need) {
  switch (need) {
    case Need::same_user: return "needs the same user, or CAP_SYS_PTRACE";
    case Need::memory:
      return "needs CAP_SYS_PTRACE, or the same user where kernel.yama.ptrace_scope is 0";
    case Need::checkpoint_restore: return "needs CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN";
    case Need::file_access: return "needs read access to the file, or CAP_DAC_READ_SEARCH";
  }
  return {};
}

struct CloseDir {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

}  // namespace

Error system_error(int error, std::string_view what, Need need) {
  const ErrorKind kind = kind_of(error);
  std::string message = escape_foreign(what) + ": " + std::strerror(error);
  if (kind == ErrorKind::permission) message += "; " + std::string(need_text(need));
  return Error{kind, std::move(message), error};
}

Result<std::string> read_descriptor(int fd, std::string_view what, std::uint64_t cap) {
  return read_descriptor(fd, what, cap, {});
}

Result<std::string> read_descriptor(int fd, std::string_view what, std::uint64_t cap,
                                    const std::function<void(std::string& text)>& grown) {
  // A file in /proc has no size: read until the end. The buffer is not cleared and mostly not even
  // touched, since seq_file hands out a page at a time.
  // Not on the stack, which may be small.
  const auto buffer = std::make_unique_for_overwrite<std::array<char, kReadPiece>>();
  std::string text;
  while (true) {
    const ssize_t count = ::read(fd, buffer->data(), buffer->size());
    if (count < 0) {
      if (errno == EINTR) continue;
      return tl::unexpected(system_error(errno, what, Need::same_user));
    }
    if (count == 0) break;
    const std::size_t size = text.size() + static_cast<std::size_t>(count);
    if (size > cap) {
      return fail(ErrorKind::limit, escape_foreign(what) + ": larger than the limit of " +
                                        std::to_string(cap) + " bytes");
    }
    // Memory that is reserved and never touched costs nothing but of what a worker may reserve, a
    // copy at every doubling does.
    constexpr std::size_t kGrowth = 8;
    constexpr std::size_t kMostGrowth = 64u << 20;
    if (size > text.capacity()) {
      text.reserve(text.empty() ? size : size + std::min(size * (kGrowth - 1), kMostGrowth));
    }
    text.append(buffer->data(), static_cast<std::size_t>(count));
    if (grown) grown(text);
  }
  return text;
}

Result<ProcDirectory> ProcDirectory::open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return tl::unexpected(system_error(errno, path, Need::same_user));
  return ProcDirectory(std::move(fd), path);
}

Result<ProcDirectory> ProcDirectory::child(const std::string& name) const {
  UniqueFd fd(::openat(fd_.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return tl::unexpected(system_error(errno, shown(name), Need::same_user));
  return ProcDirectory(std::move(fd), shown(name));
}

Result<UniqueFd> ProcDirectory::open_file(const std::string& name) const {
  while (true) {
    UniqueFd fd(::openat(fd_.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (fd.valid()) return fd;
    if (errno != EINTR) return tl::unexpected(system_error(errno, shown(name), Need::same_user));
  }
}

Result<std::string> ProcDirectory::read_file(const std::string& name, std::uint64_t cap) const {
  auto fd = open_file(name);
  if (!fd) return tl::unexpected(fd.error());
  return read_descriptor(fd->get(), shown(name), cap);
}

Result<std::string> ProcDirectory::read_link(const std::string& name) const {
  // The kernel cuts silently: a full buffer may be a cut text, so ask again with more room.
  std::string text(512, '\0');
  while (true) {
    const ssize_t count = ::readlinkat(fd_.get(), name.c_str(), text.data(), text.size());
    if (count < 0) return tl::unexpected(system_error(errno, shown(name), Need::same_user));
    if (static_cast<std::size_t>(count) < text.size()) {
      text.resize(static_cast<std::size_t>(count));
      return text;
    }
    if (text.size() > (64u << 10)) return fail(ErrorKind::limit, shown(name) + ": link too long");
    text.resize(text.size() * 2);
  }
}

Result<struct stat> ProcDirectory::stat_file(const std::string& name) const {
  struct stat info = {};
  if (::fstatat(fd_.get(), name.c_str(), &info, 0) != 0) {
    return tl::unexpected(system_error(errno, shown(name), Need::same_user));
  }
  return info;
}

Result<std::vector<std::string>> ProcDirectory::list(const std::string& name) const {
  UniqueFd fd(::openat(fd_.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return tl::unexpected(system_error(errno, shown(name), Need::same_user));
  std::unique_ptr<DIR, CloseDir> dir(::fdopendir(fd.get()));
  if (!dir) return tl::unexpected(system_error(errno, shown(name), Need::same_user));
  static_cast<void>(fd.release());
  std::vector<std::string> names;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(dir.get());
    if (entry == nullptr) break;
    const std::string_view text(entry->d_name);
    if (text != "." && text != "..") names.emplace_back(text);
  }
  if (errno != 0) return tl::unexpected(system_error(errno, shown(name), Need::same_user));
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::vector<std::int64_t>> ProcDirectory::list_pids() const {
  auto names = list(".");
  if (!names) return tl::unexpected(names.error());
  std::vector<std::int64_t> pids;
  for (const auto& name : *names) {
    if (auto number = parse_unsigned(name, 10); number && *number <= INT32_MAX) {
      pids.push_back(static_cast<std::int64_t>(*number));
    }
  }
  std::sort(pids.begin(), pids.end());
  return pids;
}

bool ProcDirectory::is_procfs() const {
  struct statfs info = {};
  return ::fstatfs(fd_.get(), &info) == 0 && info.f_type == PROC_SUPER_MAGIC;
}

std::string ProcDirectory::shown(std::string_view name) const {
  std::string text = path_;
  if (text.empty() || text.back() != '/') text += '/';
  return text + std::string(name);
}

}  // namespace cudart_doctor
