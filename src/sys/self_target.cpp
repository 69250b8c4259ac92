// The child's side of the "self" target: dlopen on request. It runs no CUDA code of its own.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

#include "cudart_doctor/sys/self_child.hpp"
#include "self_protocol.hpp"

namespace cudart_doctor {
namespace {

std::string open_library(const std::string& name) {
  if (::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) return {kSelfLoaded};
  const char* error = ::dlerror();
  return kSelfFailed + std::string(error != nullptr ? error : "dlopen failed without a text");
}

bool reply(const std::string& text) {
  const char* bytes = text.c_str();
  std::size_t left = text.size() + 1;
  while (left > 0) {
    const ssize_t count = ::write(kSelfReplyFd, bytes, left);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes += count;
    left -= static_cast<std::size_t>(count);
  }
  return true;
}

}  // namespace

int self_target_main() {
  // A library that starts a program must not keep the parent's pipes open through it.
  ::fcntl(kSelfCommandFd, F_SETFD, FD_CLOEXEC);
  ::fcntl(kSelfReplyFd, F_SETFD, FD_CLOEXEC);
  std::string name;
  std::array<char, 4096> buffer = {};
  while (true) {
    const ssize_t count = ::read(kSelfCommandFd, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    for (ssize_t i = 0; i < count; ++i) {
      const char c = buffer.at(static_cast<std::size_t>(i));
      if (c != '\0') {
        name += c;
        continue;
      }
      if (!reply(open_library(name))) return 1;
      name.clear();
    }
  }
  // Destructors of foreign libraries have nothing to say here, and may crash.
  ::_exit(0);
}

}  // namespace cudart_doctor
