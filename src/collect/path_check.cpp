#include "cudart_doctor/collect/path_check.hpp"

#include <vector>

namespace cudart_doctor {
namespace {

constexpr std::string_view kMark = " (deleted)";

/// `path`, and `path` with every "\012" turned into the line break that the kernel may have meant.
std::vector<std::string> readings_of(std::string_view path) {
  std::vector<std::string> readings = {std::string(path)};
  std::string restored(path);
  bool changed = false;
  for (auto at = restored.find("\\012"); at != std::string::npos;
       at = restored.find("\\012", at + 1)) {
    restored.replace(at, 4, "\n");
    changed = true;
  }
  if (changed) readings.push_back(std::move(restored));
  return readings;
}

struct Look {
  std::optional<PathStat> same;  ///< A reading that leads to the mapped file.
  std::string same_path;
  std::optional<PathStat> other;  ///< The first reading that leads to another file.
  std::string trouble;            ///< The first error other than "not there".
};

Look look_at(const TargetFiles& files, std::string_view path, const FileKey& key) {
  Look look;
  for (auto& reading : readings_of(path)) {
    auto info = files.stat(reading);
    if (!info) {
      if (info.error().kind != ErrorKind::not_found && look.trouble.empty()) {
        look.trouble = info.error().message;
      }
    } else if (info->key == key) {
      look.same = *info;
      look.same_path = std::move(reading);
      break;
    } else if (!look.other) {
      look.other = *info;
    }
  }
  return look;
}

}  // namespace

bool is_memory_path(std::string_view shown, const FileKey& key) {
  if (!shown.starts_with('/')) return true;  // anon_inode:[...], socket:[...]
  // All of these live on file systems without a device (major 0) and are shown as deleted; a file
  // in the root directory could be named the same, but lies on a mounted one.
  if (key.dev_major != 0 || !shown.ends_with(kMark)) return false;
  const std::string_view name = shown.substr(0, shown.size() - kMark.size());
  return name.starts_with("/memfd:") || name.starts_with("/SYSV") || name == "/dev/zero" ||
         name == "/anon_hugepage";
}

PathCheck check_path(const TargetFiles& files, std::string_view shown, const FileKey& key) {
  PathCheck check;
  check.path = std::string(shown);
  Look literal = look_at(files, shown, key);
  if (literal.same) {
    check.state = FileState::same;
    check.path = std::move(literal.same_path);
    check.now = literal.same;
    return check;
  }
  Look look = std::move(literal);
  if (shown.ends_with(kMark)) {
    check.marked_deleted = true;
    check.path = std::string(shown.substr(0, shown.size() - kMark.size()));
    look = look_at(files, check.path, key);
  }
  if (look.same) {
    check.state = FileState::same;
    check.path = std::move(look.same_path);
    check.now = look.same;
    check.note = "marked as deleted, but the path leads to the mapped file again";
  } else if (look.other) {
    check.state = check.marked_deleted ? FileState::replaced : FileState::differs;
    check.now = look.other;
  } else if (!look.trouble.empty()) {
    check.note = std::move(look.trouble);
  } else {
    check.state = check.marked_deleted ? FileState::deleted : FileState::absent;
  }
  return check;
}

}  // namespace cudart_doctor
