#include "cudart_doctor/sys/stale_recorders.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cudart_doctor/sys/unique_fd.hpp"
#include "recorder_folder.hpp"

namespace cudart_doctor {
namespace {

constexpr std::string_view kPrefix = "doctor-run-";
constexpr std::size_t kNameSize = kPrefix.size() + 10;
/// No more of a crowded folder is looked at: this runs while a command starts.
constexpr std::size_t kMostEntries = 10'000;
/// The names in an open folder, no more than asked for.
std::vector<std::string> names_in(int folder, std::size_t most) {
  std::vector<std::string> names;
  // A descriptor of its own: reading moves it, and closedir closes it.
  const int own = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const stream = own < 0 ? nullptr : ::fdopendir(own);
  if (stream == nullptr) {
    if (own >= 0) ::close(own);
    return names;
  }
  while (names.size() < most) {
    const dirent* const entry = ::readdir(stream);
    if (entry == nullptr) break;
    const std::string_view name(entry->d_name);
    if (name != "." && name != "..") names.emplace_back(name);
  }
  ::closedir(stream);
  return names;
}

/// A socket that was bound, and nobody listens there.
bool is_dead_socket(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return false;
  path.copy(address.sun_path, path.size());
  sockaddr_storage storage{};
  std::memcpy(&storage, &address, sizeof address);
  const auto* const generic = static_cast<const sockaddr*>(static_cast<const void*>(&storage));
  const UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  return fd.valid() && ::connect(fd.get(), generic, sizeof address) != 0 && errno == ECONNREFUSED;
}

bool has_type(int folder, const char* name, mode_t type) {
  struct stat facts = {};
  return ::fstatat(folder, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
         (facts.st_mode & S_IFMT) == type;
}

/// The library is written once somebody listens: a folder without one may be in the making. One
/// with anything else in it is none of a recorder's.
bool is_stale(const RecorderFolder& folder, const std::string& path) {
  std::vector<std::string> names = names_in(folder.descriptor(), 3);
  std::sort(names.begin(), names.end());
  return names == std::vector<std::string>{kRecorderLibrary, kRecorderSocket} &&
         has_type(folder.descriptor(), kRecorderLibrary, S_IFREG) &&
         has_type(folder.descriptor(), kRecorderSocket, S_IFSOCK) &&
         is_dead_socket(path + "/" + kRecorderSocket);
}

/// Only the library is there, and has been for so long that who starts now is not about to map it.
bool is_kept(const RecorderFolder& folder) {
  constexpr std::time_t kSettled = 60;
  struct stat facts = {};
  return names_in(folder.descriptor(), 2) == std::vector<std::string>{kRecorderLibrary} &&
         has_type(folder.descriptor(), kRecorderLibrary, S_IFREG) &&
         ::fstat(folder.descriptor(), &facts) == 0 && ::time(nullptr) - facts.st_mtime > kSettled;
}

/// Takes out of `paths` what a process whose maps can be read has mapped; all, where none can be
/// listed.
void leave_mapped(const ProcDirectory& proc, std::map<std::string, RecorderFolder>& paths) {
  const auto pids = proc.list_pids();
  if (!pids) return paths.clear();
  for (const std::int64_t pid : *pids) {
    if (paths.empty()) return;
    const auto process = proc.child(std::to_string(pid));
    const auto maps = process ? process->read_file("maps") : Result<std::string>(std::string());
    if (!maps) continue;
    std::erase_if(paths, [&](const auto& each) { return maps->find(each.first) != maps->npos; });
  }
}

/// Calls `visit` with the folders of recorders below `place` that are the caller's own.
void each_folder(const std::string& place,
                 const std::function<void(RecorderFolder folder, std::string path)>& visit) {
  const UniqueFd at(::open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!at.valid()) return;
  for (const std::string& name : names_in(at.get(), kMostEntries)) {
    if (name.size() != kNameSize || !name.starts_with(kPrefix)) continue;
    auto folder = RecorderFolder::open(at.get(), name);
    if (folder) visit(std::move(*folder), place + "/" + name);
  }
}

}  // namespace

void remove_stale_recorders(const std::string& place) {
  each_folder(place, [](const RecorderFolder& folder, const std::string& path) {
    if (is_stale(folder, path)) folder.remove();
  });
}

void remove_kept_recorders(const std::string& place, const ProcDirectory& proc) {
  std::map<std::string, RecorderFolder> kept;
  each_folder(place, [&kept](RecorderFolder folder, std::string path) {
    if (is_kept(folder)) kept.emplace(std::move(path), std::move(folder));
  });
  if (!kept.empty()) leave_mapped(proc, kept);
  for (const auto& [path, folder] : kept) folder.remove();
}

}  // namespace cudart_doctor
