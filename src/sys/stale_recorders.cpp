#include "cudart_doctor/sys/stale_recorders.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <vector>

#include "cudart_doctor/sys/unique_fd.hpp"

namespace cudart_doctor {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "doctor-run-";
constexpr std::size_t kNameSize = kPrefix.size() + 10;
/// No more of a crowded folder is looked at: this runs while a command starts.
constexpr int kMostEntries = 10'000;
/// A recorder's folder has a socket and a library.
constexpr int kMostFiles = 4;

/// A folder of the caller's own, not a link to one.
bool is_own_folder(const std::string& path) {
  struct stat facts = {};
  return ::lstat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode) &&
         facts.st_uid == ::geteuid();
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

bool is_stale(const std::string& folder) {
  std::error_code error;
  bool dead_socket = false;
  bool library = false;
  int files = 0;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::end(entry);
       entry.increment(error)) {
    if (++files > kMostFiles) return false;
    const fs::file_type type = entry->symlink_status(error).type();
    if (type == fs::file_type::socket) dead_socket = is_dead_socket(entry->path().string());
    // It is written once somebody listens: a folder without one may be in the making.
    library = library || type == fs::file_type::regular;
  }
  return !error && dead_socket && library;
}

}  // namespace

void remove_stale_recorders(const std::string& place) {
  std::error_code error;
  std::vector<std::string> stale;
  int seen = 0;
  for (fs::directory_iterator entry(place, error);
       !error && entry != fs::end(entry) && ++seen <= kMostEntries; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.size() != kNameSize || !name.starts_with(kPrefix)) continue;
    const std::string folder = entry->path().string();
    if (is_own_folder(folder) && is_stale(folder)) stale.push_back(folder);
  }
  for (const std::string& folder : stale) fs::remove_all(folder, error);
}

}  // namespace cudart_doctor
