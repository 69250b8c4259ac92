#include "open_subject.hpp"

#include <fcntl.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <utility>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/formats/elf.hpp"
#include "cudart_doctor/sys/file_source.hpp"

namespace cudart_doctor {
namespace {

constexpr int kReadFlags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;

/// Plain hexadecimal, without the padding of maps.
std::string map_file_name(const ProbeSubject& subject) {
  std::array<char, 64> text = {};
  (void)std::snprintf(text.data(), text.size(), "map_files/%llx-%llx",
                      static_cast<unsigned long long>(subject.map_lo),
                      static_cast<unsigned long long>(subject.map_hi));
  return text.data();
}

Result<OpenedFile> checked(UniqueFd fd, std::string_view shown) {
  const auto info = stat_descriptor(fd.get(), shown);
  if (!info) return tl::unexpected(info.error());
  if (!info->is_regular()) {
    return fail(ErrorKind::unsupported, escape_foreign(shown) + ": it is a " + info->type_name());
  }
  return OpenedFile{std::move(fd), *info};
}

Result<OpenedFile> open_mapping(const ProcDirectory& process, const ProbeSubject& subject) {
  const std::string name = map_file_name(subject);
  // Looked at before it is opened: opening a mapped device can do anything.
  const auto info = process.stat_file(name);
  if (info && !S_ISREG(info->st_mode)) {
    return fail(ErrorKind::unsupported, process.shown(name) + ": no regular file");
  }
  UniqueFd fd(info ? ::openat(process.fd(), name.c_str(), kReadFlags) : -1);
  if (!fd.valid()) {
    const int error = info ? errno : info.error().sys_errno;
    return tl::unexpected(system_error(error, process.shown(name), Need::checkpoint_restore));
  }
  return checked(std::move(fd), name);
}

Result<OpenedFile> open_path(const SubjectPlace& place, const std::string& path) {
  if (place.files) {
    const auto found = place.files->find(path);
    if (!found) return tl::unexpected(found.error());
    return place.files->open_regular(*found, path);
  }
  struct stat info = {};
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    return fail(ErrorKind::unsupported, escape_foreign(path) + ": no regular file");
  }
  UniqueFd fd(::open(path.c_str(), kReadFlags));
  if (!fd.valid()) return tl::unexpected(system_error(errno, path, Need::file_access));
  return checked(std::move(fd), path);
}

Result<ElfFacts> read_elf(UniqueFd fd, const OpenedFile& file) {
  FileSource source(std::move(fd), file.info.size);
  auto reader = ElfReader::open(source, ElfImage::file);
  if (!reader) return tl::unexpected(reader.error());
  return reader->read_facts();
}

/// Device numbers of one file differ between maps and stat on overlayfs and btrfs: then the
/// inode and the build-id tell.
bool is_expected(const OpenedFile& file, const ProbeSubject& subject, const Result<ElfFacts>& elf) {
  if (!subject.key.is_file() || file.info.key == subject.key) return true;
  if (file.info.key.inode != subject.key.inode) return false;
  return elf && elf->build_id && *elf->build_id == subject.build_id;
}

StageResult check_length(const OpenedFile& file, const Result<ElfFacts>& elf) {
  StageResult result{.stage = Stage::file,
                     .outcome = StageOutcome::pass,
                     .side = ProbeSide::runner,
                     .code = {},
                     .call = {},
                     .detail = {}};
  if (!elf) {
    result.outcome = StageOutcome::fail;
    result.detail = elf.error().message;
  } else if (elf->required_size > file.info.size) {
    // Mapped all the same, and SIGBUS at the first touch of what is not there.
    result.outcome = StageOutcome::fail;
    result.detail = "cut: " + std::to_string(file.info.size) + " of " +
                    std::to_string(elf->required_size) + " bytes";
  }
  return result;
}

}  // namespace

Result<SubjectPlace> open_subject_place(const ProcDirectory& proc, const ProbeIdentity& identity) {
  SubjectPlace place;
  if (identity.pid == 0) return place;
  auto process = proc.child(std::to_string(identity.pid));
  if (!process) return tl::unexpected(process.error());
  auto files = TargetFiles::open(*process);
  if (!files) return tl::unexpected(files.error());
  place.process = std::move(*process);
  place.files = std::move(*files);
  return place;
}

Result<OpenedSubject> open_subject(const SubjectPlace& place, const ProbeSubject& subject) {
  OpenedSubject opened;
  std::string first_reason;
  Result<OpenedFile> file = fail(ErrorKind::not_found, "not opened");
  if (place.process && subject.map_hi != 0) {
    opened.opened_by = "map_files";
    file = open_mapping(*place.process, subject);
    if (!file) first_reason = file.error().message + "; ";
  }
  if (!file) {
    opened.opened_by = place.files ? "root_path" : "path";
    file = open_path(place, subject.path);
  }
  if (!file) return fail(file.error().kind, first_reason + file.error().message);
  UniqueFd again(::fcntl(file->fd.get(), F_DUPFD_CLOEXEC, 0));
  // Our own limit, and nothing that the file could help.
  if (!again.valid()) return tl::unexpected(system_error(errno, subject.path, Need::file_access));
  const auto elf = read_elf(std::move(again), *file);
  if (!is_expected(*file, subject, elf)) {
    return fail(ErrorKind::not_found,
                first_reason + escape_foreign(subject.path) + " is another file now");
  }
  opened.file = check_length(*file, elf);
  opened.fd = std::move(file->fd);
  return opened;
}

}  // namespace cudart_doctor
