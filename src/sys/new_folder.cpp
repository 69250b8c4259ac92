#include "cudart_doctor/sys/new_folder.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
Result<NewFolder> NewFolder::make(const std::string& path) {
  const auto failed = [&path](int error) {
    return tl::unexpected(system_error(error, path, Need::file_access));
  };
  const auto refused = [&path](const std::string& why) {
    return fail(ErrorKind::usage, escape_foreign(path) + ": " + why);
  };
  auto place = Place::find(path);
  if (!place && place.error().sys_errno != 0) return failed(place.error().sys_errno);
  if (!place) return refused(place.error().message);
  const bool made = ::mkdirat(place->folder(), place->name(), 0700) == 0;
  if (!made && errno != EEXIST) return failed(errno);
  const int no_link = place->is_kernel_link() ? 0 : O_NOFOLLOW;
  UniqueFd fd(
      ::openat(place->folder(), place->name(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | no_link));
  struct stat status{};
  if (!fd.valid() || ::fstat(fd.get(), &status) != 0) return failed(errno);
  if (place->is_strangers(status)) {
    return refused(
        "another user's, in a folder to which all may write: name a place in a folder of your own");
  }
  auto directory = ProcDirectory::adopt(std::move(fd), path);
  const auto names = directory.list(".");
  if (!names) return tl::unexpected(names.error());
  if (!names->empty()) return refused("there already, and not an empty folder");
  return NewFolder(std::move(*place), std::move(directory), made);
}

void NewFolder::remove() const {
  if (made_) ::unlinkat(place_.folder(), place_.name(), AT_REMOVEDIR);
}

}  // namespace cudart_doctor
