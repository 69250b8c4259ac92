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
#include <utility>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/formats/recorder_limits.hpp"
#include "cudart_doctor/sys/output_file.hpp"
#include "recorder_folder.hpp"
#include "recorder_image.hpp"

namespace cudart_doctor {
namespace {

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

Result<void> write_library(int folder, std::string_view image) {
  const UniqueFd fd(
      ::openat(folder, kRecorderLibrary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
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

Result<UniqueFd> listen_at(int folder, const std::string& path) {
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
  if (::fchmodat(folder, kRecorderSocket, 0666, 0) != 0) {
    return failed("the socket's mode cannot be set", errno);
  }
  // The kernel cuts it to net.core.somaxconn.
  constexpr int kWaiting = 4096;
  if (::listen(fd.get(), kWaiting) != 0) return failed("the socket cannot be listened at", errno);
  return fd;
}

}  // namespace

RecorderFiles::RecorderFiles() = default;

RecorderFiles::RecorderFiles(RecorderFiles&& other) noexcept
    : directory_(std::exchange(other.directory_, {})),
      library_(std::exchange(other.library_, {})),
      folder_(std::move(other.folder_)),
      listener_(std::move(other.listener_)),
      keeps_library_(other.keeps_library_),
      owner_(other.owner_) {}

RecorderFiles& RecorderFiles::operator=(RecorderFiles&& other) noexcept {
  if (this == &other) return *this;
  remove();
  directory_ = std::exchange(other.directory_, {});
  library_ = std::exchange(other.library_, {});
  folder_ = std::move(other.folder_);
  listener_ = std::move(other.listener_);
  keeps_library_ = other.keeps_library_;
  owner_ = other.owner_;
  return *this;
}

RecorderFiles::~RecorderFiles() { remove(); }

std::string RecorderFiles::socket() const { return directory_ + "/" + kRecorderSocket; }

void RecorderFiles::remove() noexcept {
  if (!folder_ || owner_ != ::getpid()) return;
  if (keeps_library_) {
    folder_->remove_socket();
  } else {
    folder_->remove();
  }
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

Result<RecorderFiles> RecorderFiles::lay_at(const std::string& named) {
  if (!named.starts_with('/')) return fail(ErrorKind::io, "it is no absolute path");
  const auto place = sound_place(named);
  if (!place) return tl::unexpected(place.error());
  if (const std::string reason = refusal(*place); !reason.empty()) {
    return fail(ErrorKind::io, reason);
  }
  const auto name = random_name();
  if (!name) return tl::unexpected(name.error());
  auto folder = RecorderFolder::make(*place, *name);
  if (!folder) return tl::unexpected(folder.error());
  RecorderFiles files;
  files.folder_ = std::make_unique<RecorderFolder>(std::move(*folder));
  files.directory_ = *place == "/" ? *place + *name : *place + "/" + *name;
  files.library_ = files.directory_ + "/" + kRecorderLibrary;
  files.owner_ = ::getpid();
  const std::string socket = files.directory_ + "/" + kRecorderSocket;
  auto listener = listen_at(files.folder_->descriptor(), socket);
  if (!listener) return tl::unexpected(listener.error());
  files.listener_ = std::move(*listener);
  const auto image = image_for(socket);
  if (!image) return tl::unexpected(image.error());
  if (const auto written = write_library(files.folder_->descriptor(), *image); !written) {
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
