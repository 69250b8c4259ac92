// What dlopen of a path (a text with a '/') would give in the target: the old object, a second one,
// a fresh load or a failure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "cudart_doctor/model/selection.hpp"
#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

struct OpenResult {
  OpenOutcome open = OpenOutcome::unknown;
  std::optional<std::size_t> object;     ///< The object that the handle belongs to.
  std::optional<std::string> disk_path;  ///< The file that would be mapped.
  std::string note;                      ///< Why, one printable sentence.
  std::string error_text;                ///< dlerror()'s text when it fails.
};

/// glibc compares `text` with each loaded object's name and soname first and touches no file on a
/// hit; else the file that is at the path now is opened, and its device and inode decide.
OpenResult open_path(const Snapshot& snapshot, std::string_view text);

/// What is at a path in the target's view today, as far as the snapshot tells.
struct FileNow {
  enum class State : std::uint8_t { absent, file, directory, unknown } state = State::unknown;
  FileKey key;       ///< Of a file; inode 0 when only its being another one is known.
  std::string note;  ///< Why it is unknown.
};
FileNow file_now(const Snapshot& snapshot, std::string_view path);

/// dlerror()'s text for a file that is not there.
std::string no_such_file(std::string_view name);

}  // namespace cudart_doctor
