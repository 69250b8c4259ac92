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

Result<std::string> read_one(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd.valid()) return refused(path, std::strerror(errno));
  std::string text;
  const auto end =
      read_input(fd.get(), kMaxAllowFile, [&text](std::string_view bytes) { text.append(bytes); });
  if (!end) return refused(path, std::strerror(end.error().sys_errno));
  if (*end == InputEnd::cut) {
    return refused(path, "longer than " + std::to_string(kMaxAllowFile >> 10U) + " KiB");
  }
  return text;
}

}  // namespace

Result<std::vector<std::string>> read_allow_files(const std::vector<std::string>& paths) {
  std::vector<std::string> texts;
  for (const std::string& path : paths) {
    auto text = read_one(path);
    if (!text) return tl::unexpected(text.error());
    texts.push_back(std::move(*text));
  }
  return texts;
}

Result<std::vector<Allowance>> parse_allow_files(const std::vector<std::string>& paths,
                                                 const std::vector<std::string>& texts) {
  std::vector<Allowance> all;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    auto more = parse_allow_file(texts[i], base_name(paths[i]));
    if (!more) return fail(ErrorKind::usage, "--allow-file: " + more.error().message);
    all.insert(all.end(), std::make_move_iterator(more->begin()),
               std::make_move_iterator(more->end()));
  }
  return all;
}

}  // namespace cudart_doctor
