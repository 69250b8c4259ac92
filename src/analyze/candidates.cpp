// Walks the snapshot: mapped objects by address, then installed files that are not mapped.
#include "cudart_doctor/analyze/candidates.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <utility>

#include "cudart_doctor/analyze/file_owner.hpp"
#include "cudart_doctor/analyze/identify.hpp"
#include "cudart_doctor/base/text.hpp"
#include "runtime_signs.hpp"
#include "site_path.hpp"

namespace cudart_doctor {
namespace {

std::vector<std::size_t> by_address(const std::vector<LoadedObject>& objects) {
  std::vector<std::size_t> order(objects.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(objects[a].lowest, a) < std::pair(objects[b].lowest, b);
  });
  return order;
}

/// An installed file that is not mapped, once for each file however many links lead to it.
struct DiskFile {
  std::string_view path;
  std::string_view real_path;  ///< `path` itself where no link was followed.
  std::string_view found_by;
  const Fact<ElfFacts>* read = nullptr;
  const Fact<ContentScan>* content = nullptr;
  Fact<ElfFacts> unread = {};  ///< Stands for `read` where nothing was asked of the file.

  [[nodiscard]] const Fact<ElfFacts>& elf() const { return unread.is_asked() ? unread : *read; }
};

// overlayfs and btrfs show one device in maps and another in stat: the path decides there.
bool is_mapped(const Snapshot& snapshot, const DiskEntry& entry, std::string_view real_path) {
  return std::any_of(
      snapshot.objects.begin(), snapshot.objects.end(), [&](const LoadedObject& object) {
        if (entry.key.is_file() && entry.key == object.key) return true;
        return object.state == FileState::same && entry.key.inode == object.key.inode &&
               std::find(object.paths.begin(), object.paths.end(), real_path) != object.paths.end();
      });
}

std::vector<DiskFile> unmapped_files(const Snapshot& snapshot) {
  std::vector<const InstalledFile*> installed;
  for (const InstalledFile& file : snapshot.installed) installed.push_back(&file);
  // The same path can be found twice; the vector's own order decides then.
  std::sort(installed.begin(), installed.end(), [](const auto* a, const auto* b) {
    return a->path != b->path ? a->path < b->path : std::less<>()(a, b);
  });

  std::vector<DiskFile> files;
  std::set<FileKey> seen;
  for (const InstalledFile* file : installed) {
    const auto at = snapshot.disk.find(file->path);
    if (at == snapshot.disk.end()) continue;
    const DiskEntry& entry = at->second;
    if (entry.kind != DiskKind::file && entry.kind != DiskKind::unreadable) continue;
    const std::string_view real_path = entry.real_path.empty() ? file->path : entry.real_path;
    if (is_mapped(snapshot, entry, real_path)) continue;
    if (entry.key.is_file() && !seen.insert(entry.key).second) continue;
    const bool no_reason = entry.kind == DiskKind::unreadable && !entry.elf.is_asked();
    files.push_back({file->path, real_path, file->found_by, &entry.elf, &entry.content});
    if (no_reason) files.back().unread = Fact<ElfFacts>::unknown(entry.note);
  }
  return files;
}

Candidate candidate_of_object(const Snapshot& snapshot, std::size_t index) {
  const LoadedObject& object = snapshot.objects[index];
  Candidate candidate = identify_runtime(object.path(), object.elf, object.content);
  candidate.object = index;
  candidate.loaded = object.executable;
  candidate.selectable_by_name =
      std::any_of(object.paths.begin(), object.paths.end(),
                  [](const std::string& path) { return is_selectable_name(base_name(path)); });
  return candidate;
}

/// Nothing points to a runtime, or (not loaded) only a name does.
bool is_worth_listing(const Candidate& candidate) {
  if (candidate.kind != RuntimeKind::not_a_runtime) return true;
  return candidate.object.has_value() && !candidate.evidence.empty();
}

/// The owner by the packages' own records; what the place suggests only where they left it open.
std::string package_of(const Snapshot& snapshot, const Candidate& candidate) {
  if (const FileOwner* owner = find_owner(snapshot, candidate.path)) return package_text(*owner);
  const auto answer = snapshot.owners.find(candidate.path);
  if (answer != snapshot.owners.end() && answer->second.is_known()) return {};
  return guess_owner(candidate.path, snapshot.python, candidate.major);
}

bool is_known(const Companion& companion) {
  return companion.kind != CompanionKind::undetermined || !companion.evidence.empty();
}

}  // namespace

std::vector<Candidate> find_candidates(const Snapshot& snapshot) {
  std::vector<Candidate> found;
  const auto add = [&](Candidate candidate) {
    if (!is_worth_listing(candidate)) return;
    candidate.package = package_of(snapshot, candidate);
    found.push_back(std::move(candidate));
  };
  for (std::size_t index : by_address(snapshot.objects)) add(candidate_of_object(snapshot, index));
  for (const DiskFile& file : unmapped_files(snapshot)) {
    // The version is in the name behind the links, the place in the name that was found.
    Candidate candidate = identify_runtime(file.real_path, file.elf(), *file.content);
    candidate.path = std::string(file.path);
    candidate.selectable_by_name = is_selectable_name(base_name(file.real_path));
    add(std::move(candidate));
  }
  return found;
}

std::vector<Companion> find_companions(const Snapshot& snapshot) {
  std::vector<Companion> found;
  for (std::size_t index : by_address(snapshot.objects)) {
    const LoadedObject& object = snapshot.objects[index];
    Companion companion = identify_companion(object.path(), object.elf, object.content);
    companion.object = index;
    companion.loaded = object.executable;
    if (is_known(companion)) found.push_back(std::move(companion));
  }
  for (const DiskFile& file : unmapped_files(snapshot)) {
    Companion companion = identify_companion(file.real_path, file.elf(), *file.content);
    companion.path = std::string(file.path);
    companion.found_by = std::string(file.found_by);
    if (is_known(companion)) found.push_back(std::move(companion));
  }
  return found;
}

}  // namespace cudart_doctor
