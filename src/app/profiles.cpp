// The files that --profile names.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <utility>

#include "cudart_doctor/app/policies.hpp"
#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/sys/proc_root.hpp"
#include "cudart_doctor/sys/unique_fd.hpp"

namespace cudart_doctor {
namespace {

tl::unexpected<Error> wrong(const std::string& file, const std::string& what) {
  return fail(ErrorKind::usage, "--profile " + escape_foreign(file) + ": " + what);
}

Result<std::string> read_file(const std::string& file) {
  // A pipe without a writer must not block.
  UniqueFd fd(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd.valid()) return wrong(file, std::strerror(errno));
  struct stat info = {};
  if (::fstat(fd.get(), &info) != 0) return wrong(file, std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return wrong(file, "not a regular file");
  if (info.st_size > static_cast<off_t>(kMaxProfileBytes)) return wrong(file, "larger than 1 MiB");
  auto text = read_descriptor(fd.get(), file, kMaxProfileBytes);
  if (!text) return wrong(file, text.error().message);
  return text;
}

}  // namespace

Result<std::vector<std::string>> read_profiles(const std::vector<std::string>& files) {
  if (files.size() > kMaxProfiles) {
    return fail(ErrorKind::usage, "--profile: " + std::to_string(files.size()) +
                                      " files; at most " + std::to_string(kMaxProfiles) +
                                      " are allowed");
  }
  std::vector<std::string> texts;
  for (const std::string& file : files) {
    auto text = read_file(file);
    if (!text) return tl::unexpected(text.error());
    texts.push_back(std::move(*text));
  }
  return texts;
}

Result<std::vector<Profile>> parse_profiles(const std::vector<std::string>& files,
                                            const std::vector<std::string>& texts) {
  std::vector<Profile> profiles;
  std::set<std::string> ids;
  for (std::size_t i = 0; i < files.size(); ++i) {
    auto profile = parse_profile(texts[i]);
    if (!profile) return wrong(files[i], profile.error().message);
    if (!ids.insert(profile->id).second) {
      return wrong(files[i], "another file has the id '" + profile->id + "' too");
    }
    profiles.push_back(std::move(*profile));
  }
  return profiles;
}

const Profile* find_profile(const std::vector<Profile>& profiles, std::string_view row) {
  const auto found = std::ranges::find_if(profiles, [row](const Profile& profile) {
    return std::string(kProfilePrefix) + profile.id == row;
  });
  return found == profiles.end() ? nullptr : &*found;
}

Error unknown_profile(std::string_view asker, std::string_view row) {
  return {ErrorKind::usage,
          std::string(asker) + ": no file of --profile has the id of '" + escape_foreign(row) + "'",
          0};
}

}  // namespace cudart_doctor
