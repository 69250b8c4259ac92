#include "cudart_doctor/app/python.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

Result<std::string> below_working_directory(const std::string& path) {
  if (path.starts_with('/')) return path;
  std::error_code error;
  const auto here = std::filesystem::current_path(error);
  if (error) {
    return fail(ErrorKind::io,
                "--python " + escape_foreign(path) + ": the working directory: " + error.message());
  }
  std::string_view rest = path;
  while (rest.starts_with("./")) rest.remove_prefix(2);
  return (here.native() == "/" ? std::string() : here.native()) + "/" + std::string(rest);
}

bool is_program(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

Result<std::string> absolute_python(const std::string& text) {
  if (text.find('/') != std::string::npos) return below_working_directory(text);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment.
  const char* const path = std::getenv("PATH");
  for (const std::string_view directory : split(path == nullptr ? "" : path, ':')) {
    // As in a shell: an empty part is the working directory.
    auto candidate =
        below_working_directory((directory.empty() ? "." : std::string(directory)) + "/" + text);
    if (candidate && is_program(*candidate)) return candidate;
  }
  // A folder's bare name is no command; a shell completes it so all the same.
  struct stat info{};
  if (::stat(text.c_str(), &info) == 0) return below_working_directory("./" + text);
  return fail(ErrorKind::usage, "--python " + escape_foreign(text) + ": not found on PATH");
}

}  // namespace cudart_doctor
