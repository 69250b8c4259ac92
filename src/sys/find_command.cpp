// The look-up of a command, as execvp does it.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/sys/command_child.hpp"

namespace cudart_doctor {
namespace {

bool is_file(const std::string& path) {
  struct stat info = {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

bool may_execute(const std::string& path) {
  return ::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0;
}

}  // namespace

std::optional<std::string> find_command(const std::string& name) {
  if (name.empty()) return std::nullopt;
  if (name.find('/') != std::string::npos) {
    if (::access(name.c_str(), F_OK) != 0) return std::nullopt;
    return name;
  }
  const char* const path = std::getenv("PATH");
  std::optional<std::string> refused;
  // What glibc's execvp takes where there is no PATH.
  for (const std::string_view folder : split(path == nullptr ? "/bin:/usr/bin" : path, ':')) {
    const std::string file = folder.empty() ? "./" + name : std::string(folder) + "/" + name;
    if (!is_file(file)) continue;
    if (may_execute(file)) return file;
    if (!refused) refused = file;
  }
  return refused;
}

}  // namespace cudart_doctor
