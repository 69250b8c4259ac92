#include "cudart_doctor/app/allow.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/sys/input.hpp"
#include "cudart_doctor/sys/unique_fd.hpp"

namespace cudart_doctor {
namespace {

/// The file is part of the command line: a wrong one is a usage error.
tl::unexpected<Error> refused(const std::string& path, const std::string& why) {
  return fail(ErrorKind::usage, "--allow-file " + escape_foreign(path) + ": " + why);
}

Result<std::vector<Allowance>> read_one(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd.valid()) return refused(path, std::strerror(errno));
  std::string text;
  const auto end =
      read_input(fd.get(), kMaxAllowFile, [&text](std::string_view bytes) { text.append(bytes); });
  if (!end) return refused(path, std::strerror(end.error().sys_errno));
  if (*end == InputEnd::cut) {
    return refused(path, "longer than " + std::to_string(kMaxAllowFile >> 10U) + " KiB");
  }
  auto allowances = parse_allow_file(text, base_name(path));
  if (!allowances) {
    return fail(ErrorKind::usage, "--allow-file: " + allowances.error().message);
  }
  return allowances;
}

}  // namespace

Result<std::vector<Allowance>> read_allow_files(const std::vector<std::string>& paths) {
  std::vector<Allowance> all;
  for (const std::string& path : paths) {
    auto more = read_one(path);
    if (!more) return tl::unexpected(more.error());
    all.insert(all.end(), std::make_move_iterator(more->begin()),
               std::make_move_iterator(more->end()));
  }
  return all;
}

}  // namespace cudart_doctor
