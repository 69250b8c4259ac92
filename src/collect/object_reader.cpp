#include "cudart_doctor/collect/object_reader.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/formats/elf.hpp"
#include "cudart_doctor/sys/file_source.hpp"

namespace cudart_doctor {
namespace {

/// "map_files/7f1a10000000-7f1a10200000": plain hexadecimal, without the padding of maps.
std::string map_file_name(const Mapping& row) {
  constexpr std::size_t kDigits = 16;
  constexpr std::string_view kFolder = "map_files/";
  std::array<char, kFolder.size() + 2 * kDigits + 1> text;
  char* const end = text.data() + text.size();
  char* at = std::ranges::copy(kFolder, text.data()).out;
  at = std::to_chars(at, end, row.lo, 16).ptr;
  *at++ = '-';
  at = std::to_chars(at, end, row.hi, 16).ptr;
  return {text.data(), at};
}

std::optional<std::string> build_id_of_file(OpenedFile file) {
  FileSource source(std::move(file.fd), file.info.size);
  auto reader = ElfReader::open(source, ElfImage::file);
  return reader ? reader->read_facts().build_id : std::nullopt;
}

}  // namespace

PathCheck ObjectReader::examine_paths(LoadedObject& object) {
  if (is_memory_path(object.path(), object.key)) {
    PathCheck check;
    check.state = FileState::memory;
    check.path = object.path();
    constexpr std::string_view kMark = " (deleted)";
    if (check.path.ends_with(kMark)) {
      check.marked_deleted = true;
      check.path.resize(check.path.size() - kMark.size());
    }
    object.paths = {check.path};
    return check;
  }
  std::optional<PathCheck> best;
  std::vector<std::string> names;
  for (const auto& shown : object.paths) {
    PathCheck check = check_path(context_.files, shown, object.key);
    if (std::find(names.begin(), names.end(), check.path) == names.end()) {
      names.push_back(check.path);
    }
    if (!best || (best->state != FileState::same && check.state == FileState::same)) {
      best = std::move(check);
    }
  }
  object.paths = std::move(names);
  return best ? std::move(*best) : PathCheck{};
}

Result<OpenedFile> ObjectReader::open_map_file(const Mapping& row, const PathCheck& check) {
  const std::string name = map_file_name(row);
  const auto refused = [&](int error) {
    return tl::unexpected(
        system_error(error, context_.process.shown(name), Need::checkpoint_restore));
  };
  OpenedFile file;
  if (check.state == FileState::same && check.now && check.now->is_regular()) {
    file.info = *check.now;
  } else {
    // Not known to be a regular file: look before opening.
    struct stat info = {};
    if (::fstatat(context_.process.fd(), name.c_str(), &info, 0) != 0) {
      return refused(errno);
    }
    file.info.mode = info.st_mode;
    file.info.size = info.st_size > 0 ? static_cast<std::uint64_t>(info.st_size) : 0;
    file.info.key = row.file;
    if (!file.info.is_regular()) {
      return fail(ErrorKind::unsupported, "not opened, it is a " + file.info.type_name());
    }
  }
  file.fd = UniqueFd(
      ::openat(context_.process.fd(), name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!file.fd.valid()) return refused(errno);
  return file;
}

Result<OpenedFile> ObjectReader::open_path(const LoadedObject& object, const MapsTable& maps,
                                           const PathCheck& check) {
  auto found = context_.files.find(check.path);
  if (!found) return tl::unexpected(found.error());
  if (found->info.key.inode != object.key.inode) {
    return fail(ErrorKind::not_found, "the path leads to another file");
  }
  auto file = context_.files.open_regular(*found, check.path);
  if (!file || found->info.key == object.key) return file;
  // Another device number: only the build-id of the loaded image can tell that it is the file.
  const ElfLook image = look_at_image(object, maps);
  const ElfFacts* elf = image.elf.get();
  auto again = context_.files.open_regular(*found, check.path);
  if (elf == nullptr || !elf->build_id || !again ||
      build_id_of_file(std::move(*again)) != elf->build_id) {
    return fail(ErrorKind::not_found, "the path leads to another device");
  }
  return file;
}

ObjectReader::Bytes ObjectReader::open_bytes(const LoadedObject& object, const MapsTable& maps,
                                             const PathCheck& check) {
  Bytes bytes;
  if (map_files_.refused.empty()) {
    auto file = open_map_file(maps.rows[object.rows.front()], check);
    if (file) {
      map_files_.open = true;
      bytes.file = std::move(*file);
      bytes.route = ReadRoute::map_files;
      return bytes;
    }
    bytes.note = file.error().message;
    if (file.error().kind == ErrorKind::unsupported) {
      bytes.refused = true;
      return bytes;
    }
    // After one that was opened, a refusal is of this file alone.
    if (file.error().kind == ErrorKind::permission && !map_files_.open) {
      map_files_.refused = bytes.note;
    }
  } else {
    bytes.note = map_files_.refused;
  }
  const bool same_inode = check.now && check.now->key.inode == object.key.inode;
  if (check.state != FileState::same && !same_inode) return bytes;
  auto file = open_path(object, maps, check);
  if (file) {
    bytes.file = std::move(*file);
    bytes.route = ReadRoute::root_path;
    return bytes;
  }
  bytes.note += "; " + file.error().message;
  bytes.refused = file.error().kind == ErrorKind::unsupported;
  return bytes;
}

ElfLook ObjectReader::look_at_image(const LoadedObject& object, const MapsTable& maps) {
  for (const std::uint32_t index : object.rows) {
    const Mapping& row = maps.rows[index];
    if (row.offset != 0 || !row.readable) continue;
    return look_into_image(memory_, row.lo, object.path(), context_.rules);
  }
  ElfLook look;
  look.elf = Fact<ElfFacts>::unknown("the start of the file is not mapped readable");
  return look;
}

void ObjectReader::note_other_file(LoadedObject& object) {
  if (!object.path_now) return;
  auto found = context_.files.find(object.path());
  if (!found || found->info.key != *object.path_now) return;
  if (auto file = context_.files.open_regular(*found, object.path())) {
    object.path_now_build_id = build_id_of_file(std::move(*file));
  }
  // The same inode on another device, and the same build: what overlayfs and btrfs show, whose
  // stat gives device numbers of their own.
  const ElfFacts* elf = object.elf.get();
  if (object.state == FileState::differs && object.path_now->inode == object.key.inode &&
      elf != nullptr && elf->build_id && elf->build_id == object.path_now_build_id) {
    object.state = FileState::same;
    object.state_note =
        "stat and maps give different device numbers for one inode (overlayfs, btrfs); the "
        "build-id is the same";
  }
}

void count(CaptureFacts& counts, ReadOutcome outcome) {
  counts.objects_read += outcome.is_read ? 1 : 0;
  counts.not_elf += outcome.not_elf ? 1 : 0;
  counts.static_searched += outcome.static_searched ? 1 : 0;
  counts.static_skipped += outcome.static_skipped ? 1 : 0;
  if (!outcome.unread.empty()) counts.unread.push_back(std::move(outcome.unread));
}

ReadOutcome ObjectReader::read(LoadedObject& object, const MapsTable& maps) {
  ReadOutcome outcome;
  const bool wanted =
      object.executable || std::any_of(object.paths.begin(), object.paths.end(), [&](auto& path) {
        return context_.rules.is_cuda_name && context_.rules.is_cuda_name(path);
      });
  if (!wanted) {
    outcome.not_elf = true;
    object.state_note = "not examined: neither executable nor named like a CUDA library";
    return outcome;
  }
  const std::string first = object.path();
  if (context_.is_skipped(first)) {
    object.elf = Fact<ElfFacts>::unknown(std::string(kNoAnswer));
    object.state_note = std::string(kNoAnswer);
    outcome.unread = escape_foreign(first) + ": " + std::string(kNoAnswer);
    return outcome;
  }
  context_.progress("read mapped object", first);
  const PathCheck check = examine_paths(object);
  object.state = check.state;
  object.state_note = check.note;
  object.marked_deleted = check.marked_deleted;
  if (check.now && check.state != FileState::same) object.path_now = check.now->key;

  Bytes bytes = open_bytes(object, maps, check);
  object.route_note = std::move(bytes.note);
  ElfLook look;
  if (bytes.refused) {
    look.elf = Fact<ElfFacts>::unknown(object.route_note);
  } else if (bytes.file) {
    object.route = bytes.route;
    FileSource source(std::move(bytes.file->fd), bytes.file->info.size, {head_.get(), kHeadSize});
    look = look_into_file(source, object.path(), context_.rules);
  } else {
    object.route = ReadRoute::memory;
    look = look_at_image(object, maps);
  }
  object.elf = std::move(look.elf);
  object.content = std::move(look.content);
  note_other_file(object);

  if (object.elf.is_known()) {
    outcome.is_read = true;
    outcome.slots = std::move(look.slots);
    outcome.static_searched =
        look.plan.search_contents && look.plan.static_suspect && object.content.is_known();
    outcome.static_skipped = object.executable && !object.content.is_known();
    return outcome;
  }
  // Mapped as code and empty now: it was cut, perhaps in this very moment, and is not known.
  const bool is_cut = object.executable && look.is_empty;
  if (object.route != ReadRoute::memory && object.route != ReadRoute::none && !look.is_elf &&
      !is_cut) {
    outcome.not_elf = true;
    return outcome;
  }
  object.route = ReadRoute::none;
  outcome.unread = escape_foreign(object.path()) + ": " + object.elf.reason();
  return outcome;
}

}  // namespace cudart_doctor
