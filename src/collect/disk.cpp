#include "cudart_doctor/collect/disk.hpp"

#include <sys/stat.h>

#include <algorithm>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/collect/elf_look.hpp"
#include "cudart_doctor/sys/file_source.hpp"

namespace cudart_doctor {

Result<std::vector<std::string>> list_directory(const CaptureContext& context,
                                                const std::string& path, std::string_view filter) {
  if (context.is_skipped(path)) return fail(ErrorKind::timeout, std::string(kNoAnswer));
  context.progress("list directory", path);
  auto found = context.files.find(path);
  if (!found) return tl::unexpected(found.error());
  if (!found->info.is_directory()) {
    return fail(ErrorKind::unsupported, "it is a " + found->info.type_name());
  }
  return context.files.list(*found, filter, kMaxNames);
}

DiskReader::DiskReader(const CaptureContext& context, Snapshot& snapshot)
    : context_(context), snapshot_(snapshot), unmapped_rules_(context.rules) {
  // Stubs and runtimes are small. A driver or compiler of a hundred megabytes that nobody mapped
  // is told well enough by its ELF facts.
  if (unmapped_rules_.plan) {
    unmapped_rules_.plan = [&rules = context.rules](const ElfFacts& elf, std::string_view path) {
      ScanPlan plan = rules.plan(elf, path);
      if (elf.file_size > kMaxSearched) plan.search_contents = false;
      return plan;
    };
  }
}

void DiskReader::know_objects() {
  for (std::size_t i = 0; i < snapshot_.objects.size(); ++i) {
    objects_.emplace(snapshot_.objects[i].key, i);
  }
}

const LoadedObject* DiskReader::mapped(const FileKey& key) const {
  const auto place = objects_.find(key);
  return place == objects_.end() ? nullptr : &snapshot_.objects[place->second];
}

void DiskReader::add_elf(DiskEntry& entry, const FoundPath& found, const std::string& path) {
  if (entry.elf.is_asked()) return;
  // A file that is mapped was read already, unless only its image could be.
  const LoadedObject* object = objects_read_ ? mapped(found.info.key) : nullptr;
  if (object != nullptr && object->elf.is_known() && object->route != ReadRoute::memory) {
    entry.elf = object->elf;
    entry.content = object->content;
    return;
  }
  // One file under several names (libcudart.so, .so.13, .so.13.0.96) is read once.
  const auto [known, is_new] = read_files_.emplace(found.info.key, path);
  if (!is_new) {
    const DiskEntry& other = snapshot_.disk[known->second];
    entry.elf = other.elf;
    entry.content = other.content;
    return;
  }
  auto file = context_.files.open_regular(found, path);
  if (!file) {
    entry.elf = Fact<ElfFacts>::unknown(file.error().message);
    return;
  }
  FileSource source(std::move(file->fd), file->info.size);
  ElfLook look = look_into_file(source, path, unmapped_rules_);
  entry.elf = std::move(look.elf);
  entry.content = std::move(look.content);
}

void DiskReader::add_names(DiskEntry& entry, const FoundPath& found, const DiskRequest& request) {
  auto names = context_.files.list(found, request.filter, kMaxNames);
  if (!names) {
    entry.kind = DiskKind::unreadable;
    entry.note = names.error().message;
    return;
  }
  entry.names.insert(entry.names.end(), names->begin(), names->end());
  std::sort(entry.names.begin(), entry.names.end());
  entry.names.erase(std::unique(entry.names.begin(), entry.names.end()), entry.names.end());
}

namespace {

/// Whether the target itself may read the open file. The doctor may read more than the target, and
/// what it reads can leave the machine in a snapshot.
bool readable_by(const ProcessFacts& process, int fd) {
  struct stat info = {};
  if (::fstat(fd, &info) != 0) return false;
  if ((info.st_mode & S_IROTH) != 0) return true;
  if (process.gid == info.st_gid && (info.st_mode & S_IRGRP) != 0) return true;
  return process.uid != 0U && process.uid == info.st_uid && (info.st_mode & S_IRUSR) != 0;
}

}  // namespace

void DiskReader::add_text(DiskEntry& entry, const FoundPath& found, const std::string& path) {
  if (entry.text.is_asked()) return;
  auto file = context_.files.open_regular(found, path);
  if (file && !readable_by(snapshot_.process, file->fd.get())) {
    entry.text = Fact<std::string>::unknown("the process itself may not read it");
    return;
  }
  auto text = file ? read_descriptor(file->fd.get(), path, kMaxText)
                   : Result<std::string>(tl::unexpected(file.error()));
  entry.text = text ? Fact<std::string>::known(std::move(*text))
                    : Fact<std::string>::unknown(text.error().message);
}

const DiskEntry& DiskReader::read(const DiskRequest& request) {
  DiskEntry& entry = snapshot_.disk[request.path];
  if (context_.is_skipped(request.path)) {
    entry.note = std::string(kNoAnswer);
    return entry;
  }
  context_.progress("look at path", request.path);
  auto found = context_.files.find(request.path);
  if (!found) {
    entry.kind =
        found.error().kind == ErrorKind::not_found ? DiskKind::absent : DiskKind::unreadable;
    entry.note = entry.kind == DiskKind::absent ? std::string() : found.error().message;
    return entry;
  }
  entry.key = found->info.key;
  entry.size = found->info.size;
  if (entry.real_path.empty()) {
    if (auto real = context_.files.real_path(*found)) entry.real_path = std::move(*real);
  }
  using Want = DiskRequest::Want;
  if (found->info.is_directory()) {
    entry.kind = DiskKind::directory;
    if (request.want == Want::list) add_names(entry, *found, request);
  } else if (found->info.is_regular()) {
    entry.kind = DiskKind::file;
    if (request.want == Want::elf) add_elf(entry, *found, request.path);
    if (request.want == Want::text) add_text(entry, *found, request.path);
  } else {
    entry.kind = DiskKind::other;
    entry.note = found->info.type_name();
  }
  return entry;
}

}  // namespace cudart_doctor
