// What lies today at a path that maps shows: the mapped file, another one, or nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "cudart_doctor/model/snapshot.hpp"
#include "cudart_doctor/sys/target_files.hpp"

namespace cudart_doctor {

struct PathCheck {
  FileState state = FileState::unknown;
  std::string note;
  std::string path;  ///< The file's name: mark cut, line breaks restored where proven.
  bool marked_deleted = false;
  std::optional<PathStat> now;  ///< What is at the path, where something is.
};

/// True for what never had a path on disk: memfd, shared anonymous memory, SysV segments.
bool is_memory_path(std::string_view shown, const FileKey& key);

/// Compares the path as maps shows it with the mapped file `key`. The text is not reversible:
/// " (deleted)" may be a mark or a part of the name, "\012" a line break or four characters, so
/// the literal path is tried first.
PathCheck check_path(const TargetFiles& files, std::string_view shown, const FileKey& key);

}  // namespace cudart_doctor
