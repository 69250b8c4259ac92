#include "cudart_doctor/collect/owners.hpp"

#include <array>
#include <exception>
#include <string>

#include "cudart_doctor/base/text.hpp"
#include "owner_search.hpp"

namespace cudart_doctor {
namespace {

Owners answers(OwnerSearch& search) {
  // The most specific first: wheels lie inside of conda's prefixes and of a distribution's folders.
  constexpr std::array kSearches = {&search_wheels, &search_conda, &search_dpkg, &search_rpm,
                                    &search_unread};
  for (const auto each : kSearches) {
    // Records come from the target. What they cost must not cost the inspection.
    try {
      each(search);
    } catch (const std::exception& error) {
      search.leave_all_open("package records could not be read: " + escape_foreign(error.what()));
    }
  }
  return {.by_path = search.take(), .notes = search.notes()};
}

}  // namespace

Owners find_owners(const CaptureContext& context, const Snapshot& snapshot) {
  if (!context.rules.wants_owner) return {};
  OwnerSearch search(context, snapshot.python);
  for (const LoadedObject& object : snapshot.objects) {
    if (object.state == FileState::memory) continue;
    if (context.rules.wants_owner(object.elf.get(), object.path())) {
      search.add(object.path(), OwnerEffort::exhaustive);
    }
  }
  for (const InstalledFile& file : snapshot.installed) search.add(file.path, OwnerEffort::likely);
  return answers(search);
}

void add_owners(Owners found, Snapshot& snapshot) {
  snapshot.owners.merge(found.by_path);
  auto& notes = snapshot.capture.notes;
  notes.insert(notes.end(), found.notes.begin(), found.notes.end());
}

void find_more_owners(const CaptureContext& context, Snapshot& snapshot) {
  if (!context.rules.wants_owner) return;
  std::map<std::string, std::string> files;  // Path and where its links lead.
  for (const auto& [path, entry] : snapshot.disk) {
    if (entry.kind == DiskKind::file && !snapshot.owners.contains(path) &&
        context.rules.wants_owner(entry.elf.get(), path)) {
      files.emplace(path, entry.real_path.empty() ? path : entry.real_path);
    }
  }
  // Most are links to files that were found under another name.
  OwnerSearch search(context, snapshot.python);
  bool any = false;
  for (const auto& [path, file] : files) {
    if (snapshot.owners.contains(file)) continue;
    search.add(file, OwnerEffort::likely);
    any = true;
  }
  if (any) add_owners(answers(search), snapshot);
  for (const auto& [path, file] : files) {
    const auto found = snapshot.owners.find(file);
    if (found != snapshot.owners.end()) snapshot.owners.emplace(path, found->second);
  }
}

}  // namespace cudart_doctor
