#include "cudart_doctor/analyze/open_path.hpp"

#include "cudart_doctor/analyze/maps_view.hpp"
#include "cudart_doctor/analyze/objects_view.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

using State = FileNow::State;

/// The first object in load order that was loaded under exactly this text.
std::optional<std::size_t> find_by_loader_name(const LinkNamespace& base, const Snapshot& snapshot,
                                               std::string_view text) {
  for (const LinkEntry& entry : base.entries) {
    const auto object = object_of_entry(snapshot, entry);
    if (!object) continue;
    if (entry.name == text) return object;
    const std::string* soname = soname_of(snapshot, *object);
    if (soname != nullptr && *soname == text) return object;
  }
  return std::nullopt;
}

FileNow from_disk(const Snapshot& snapshot, std::string_view path) {
  // Whatever was found there was found from another directory than the target's.
  if (!path.starts_with('/') && path.find('/') != std::string_view::npos) {
    return {State::unknown, {}, "it is relative to the target's directory, which was not captured"};
  }
  const auto found = snapshot.disk.find(std::string(path));
  if (found == snapshot.disk.end()) {
    if (snapshot.origin == SnapshotOrigin::fixture) return {State::absent, {}, {}};
    return {State::unknown, {}, "nobody looked at this path"};
  }
  const DiskEntry& entry = found->second;
  switch (entry.kind) {
    case DiskKind::absent: return {State::absent, {}, {}};
    case DiskKind::directory: return {State::directory, entry.key, {}};
    case DiskKind::file: return {State::file, entry.key, {}};
    case DiskKind::other:
    case DiskKind::unreadable: break;
  }
  return {State::unknown, {}, entry.note.empty() ? "it could not be read" : entry.note};
}

FileNow from_object(const Snapshot& snapshot, const LoadedObject& object, std::string_view path) {
  switch (object.state) {
    case FileState::same: return {State::file, object.key, {}};
    case FileState::deleted:
    case FileState::absent:
    case FileState::memory: return {State::absent, {}, {}};
    case FileState::replaced:
    case FileState::differs: return {State::file, object.path_now.value_or(FileKey{}), {}};
    case FileState::unknown: break;
  }
  const bool asked = snapshot.disk.contains(std::string(path));
  if (asked || snapshot.origin != SnapshotOrigin::fixture) {
    FileNow now = from_disk(snapshot, path);
    if (!asked && !object.state_note.empty()) now.note = object.state_note;
    return now;
  }
  if (object.marked_deleted) return {State::absent, {}, {}};
  return {State::file, object.key, {}};
}

OpenResult old_object(std::size_t object, std::string note) {
  return {OpenOutcome::old_object, object, std::nullopt, std::move(note), {}};
}

/// Opening the file that is at the path now; no loaded object carries the text as its name.
OpenResult open_file(const Snapshot& snapshot, std::string_view text) {
  const FileNow now = file_now(snapshot, text);
  OpenResult result;
  if (now.state == State::unknown) {
    result.note = "what is at the path today is not known: " + escape_foreign(now.note);
    return result;
  }
  if (now.state != State::file) {
    result.open = OpenOutcome::fails;
    result.note =
        now.state == State::absent ? "nothing is at the path today" : "the path is a directory";
    result.error_text = now.state == State::absent
                            ? no_such_file(text)
                            : escape_foreign(text) + ": cannot read file data: Is a directory";
    return result;
  }
  if (const auto same = find_loaded_file(snapshot, now.key)) {
    return old_object(*same, "the file at the path is the loaded object (device and inode agree)");
  }
  const auto mapped = find_object_at(snapshot, text);
  const bool second = mapped && snapshot.objects[*mapped].executable;
  result.open = second ? OpenOutcome::new_object : OpenOutcome::loads;
  result.disk_path = std::string(text);
  result.note = second ? "another file is at the path today: it would be mapped beside the old one"
                       : "the file is not loaded yet and would be mapped";
  return result;
}

}  // namespace

std::string no_such_file(std::string_view name) {
  return escape_foreign(name) + ": cannot open shared object file: No such file or directory";
}

FileNow file_now(const Snapshot& snapshot, std::string_view path) {
  std::optional<std::size_t> mapped;
  for (std::size_t i = 0; i < snapshot.objects.size(); ++i) {
    const LoadedObject& object = snapshot.objects[i];
    for (const std::string& own : object.paths) {
      if (own != path) continue;
      // Of an old and a new object at one path, the one that the path leads to has the say.
      if (object.state == FileState::same) return {State::file, object.key, {}};
      if (!mapped) mapped = i;
    }
  }
  if (mapped) return from_object(snapshot, snapshot.objects[*mapped], path);
  const std::string_view cut = cut_deleted_mark(path);
  if (cut.size() != path.size() && !snapshot.disk.contains(std::string(path))) {
    for (const LoadedObject& object : snapshot.objects) {
      // Capture marks an object as deleted only where no file has the literal text as its name.
      if (object.marked_deleted && !object.paths.empty() && object.paths.front() == cut) {
        return {State::absent, {}, {}};
      }
    }
  }
  return from_disk(snapshot, path);
}

OpenResult open_path(const Snapshot& snapshot, std::string_view text) {
  const LinkNamespace* base = base_link_map(snapshot);
  if (base != nullptr) {
    if (const auto named = find_by_loader_name(*base, snapshot, text)) {
      return old_object(*named, "it was loaded under exactly this name: no file is touched");
    }
    return open_file(snapshot, text);
  }
  OpenResult result = open_file(snapshot, text);
  const auto mapped = find_object_at(snapshot, text);
  const bool may_be_named = mapped && snapshot.objects[*mapped].executable;
  if (result.open == OpenOutcome::old_object || !may_be_named) return result;
  // The name that the object was loaded under decides, and only the link map has it.
  const bool gone = result.open == OpenOutcome::fails;
  result.note = std::string(
                    "the link map could not be read: the old object if it was loaded under "
                    "exactly this path, else ") +
                (gone ? "a failure (nothing is at the path today)" : "what is at the path today");
  result.open = OpenOutcome::unknown;
  result.object = mapped;
  result.disk_path.reset();
  result.error_text.clear();
  return result;
}

}  // namespace cudart_doctor
