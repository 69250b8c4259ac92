#include "cudart_doctor/sys/recorder_files.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/formats/recorder_limits.hpp"
#include "cudart_doctor/sys/output_file.hpp"
#include "recorder_image.hpp"

namespace cudart_doctor {
namespace {

constexpr char kLibraryName[] = "/recorder.so";
constexpr char kSocketName[] = "/socket";

tl::unexpected<Error> failed(const char* what, int error) {
  return fail(ErrorKind::io, std::string(what) + ": " + std::strerror(error), error);
}

bool mentions_cuda(std::string_view path) {
  std::string lower(path);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower.find("cuda") != std::string::npos;
}

/// Why a path cannot be used whatever is there; "" where it can.
std::string refusal(std::string_view place) {
  // LD_AUDIT knows no way to quote.
  if (place.find(':') != std::string_view::npos) return "its name has a colon";
  if (place.find('$') != std::string_view::npos) return "its name has a '$'";
  if (!place.starts_with('/')) return "it is no absolute path";
  if (mentions_cuda(place)) return "its name would be taken for a library of CUDA's";
  if (place.size() + 32 > kSocketPathSize) return "its name is too long for a socket";
  return {};
}

/// Letters that spell no name of a library.
Result<std::string> random_name() {
  constexpr std::string_view kLetters = "bdfghjkmnpqrstvwxz23456789BDFGHJ";
  static_assert(kLetters.size() == 32);
  std::array<unsigned char, 10> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return failed("no random numbers", errno);
  }
  std::string name = "doctor-run-";
  for (const unsigned char byte : bytes) name += kLetters.at(byte % kLetters.size());
  return name;
}

/// The library, told of its socket.
Result<std::string> image_for(const std::string& socket_path) {
  std::string image(recorder_image());
  const auto at = image.find(kSocketPathMark);
  if (at == std::string::npos || image.find(kSocketPathMark, at + 1) != std::string::npos ||
      image.size() - at < kSocketPathSize || socket_path.size() >= kSocketPathSize) {
    return fail(ErrorKind::io, "this program's recorder has no place for its socket");
  }
  std::string path(kSocketPathSize, '\0');
  path.replace(0, socket_path.size(), socket_path);
  return image.replace(at, path.size(), path);
}

Result<void> write_library(const std::string& path, std::string_view image) {
  const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid()) return failed("the library cannot be made", errno);
  if (const auto written = write_all(fd.get(), image); !written) {
    return failed("the library cannot be written", written.error().sys_errno);
  }
  // Whatever the umask and the user that the command changes to.
  if (::fchmod(fd.get(), 0444) != 0) return failed("the library's mode cannot be set", errno);
  void* const mapped =
      ::mmap(nullptr, image.size(), PROT_READ | PROT_EXEC, MAP_PRIVATE, fd.get(), 0);
  if (mapped == MAP_FAILED) return failed("no library may be loaded from it", errno);
  ::munmap(mapped, image.size());
  return {};
}

Result<UniqueFd> listen_at(const std::string& path) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return failed("no socket", errno);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
  if (::bind(fd.get(), generic, sizeof address) != 0) {
    return failed("the socket cannot be made", errno);
  }
  // Processes of the command may run as other users; the folder's name keeps strangers out.
  if (::chmod(path.c_str(), 0666) != 0) return failed("the socket's mode cannot be set", errno);
  // The kernel cuts it to net.core.somaxconn.
  constexpr int kWaiting = 4096;
  if (::listen(fd.get(), kWaiting) != 0) return failed("the socket cannot be listened at", errno);
  return fd;
}

}  // namespace

RecorderFiles::RecorderFiles(RecorderFiles&& other) noexcept
    : directory_(std::exchange(other.directory_, {})),
      library_(std::exchange(other.library_, {})),
      listener_(std::move(other.listener_)),
      keeps_library_(other.keeps_library_),
      owner_(other.owner_) {}

RecorderFiles& RecorderFiles::operator=(RecorderFiles&& other) noexcept {
  if (this == &other) return *this;
  remove();
  directory_ = std::exchange(other.directory_, {});
  library_ = std::exchange(other.library_, {});
  listener_ = std::move(other.listener_);
  keeps_library_ = other.keeps_library_;
  owner_ = other.owner_;
  return *this;
}

RecorderFiles::~RecorderFiles() { remove(); }

void RecorderFiles::remove() noexcept {
  namespace fs = std::filesystem;
  if (directory_.empty() || owner_ != ::getpid()) return;
  std::error_code ignored;
  if (!keeps_library_) {
    fs::remove_all(directory_, ignored);
    return;
  }
  std::vector<fs::path> others;
  for (fs::directory_iterator entry(directory_, ignored); !ignored && entry != fs::end(entry);
       entry.increment(ignored)) {
    if (entry->path() != library_) others.push_back(entry->path());
  }
  for (const auto& other : others) fs::remove_all(other, ignored);
}

std::vector<std::string> recorder_places() {
  std::vector<std::string> places;
  const auto add = [&](const char* place) {
    if (place != nullptr && *place != '\0') places.emplace_back(place);
  };
  add(std::getenv("TMPDIR"));
  add("/tmp");
  add("/dev/shm");
  add("/var/tmp");
  add(std::getenv("XDG_RUNTIME_DIR"));
  return places;
}

Result<RecorderFiles> RecorderFiles::lay_at(const std::string& place) {
  if (const std::string reason = refusal(place); !reason.empty()) {
    return fail(ErrorKind::io, reason);
  }
  const auto name = random_name();
  if (!name) return tl::unexpected(name.error());
  const std::string directory = place + "/" + *name;
  if (::mkdir(directory.c_str(), 0700) != 0) return failed("no folder can be made", errno);
  RecorderFiles files;
  files.directory_ = directory;
  files.library_ = directory + kLibraryName;
  files.owner_ = ::getpid();
  if (::chmod(directory.c_str(), 0711) != 0)
    return failed("the folder's mode cannot be set", errno);
  auto listener = listen_at(directory + kSocketName);
  if (!listener) return tl::unexpected(listener.error());
  files.listener_ = std::move(*listener);
  const auto image = image_for(directory + kSocketName);
  if (!image) return tl::unexpected(image.error());
  if (const auto written = write_library(files.library_, *image); !written) {
    return tl::unexpected(written.error());
  }
  return files;
}

Result<RecorderFiles> lay_recorder(const std::vector<std::string>& places) {
  std::vector<std::string> reasons;
  for (const std::string& place : places) {
    auto files = RecorderFiles::lay_at(place);
    if (files) return files;
    reasons.push_back(escape_foreign(place) + ": " + files.error().message);
  }
  if (reasons.empty()) reasons.emplace_back("no place was named");
  return fail(ErrorKind::io, "no place for the recorder: " + join(reasons, "; "));
}

}  // namespace cudart_doctor
