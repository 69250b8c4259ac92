#include "cudart_doctor/collect/owners.hpp"

#include <array>
#include <exception>
#include <string>

#include "cudart_doctor/base/text.hpp"
#include "owner_search.hpp"

namespace cudart_doctor {

void find_owners(const CaptureContext& context, Snapshot& snapshot, const DiskReader& disk) {
  if (!context.rules.wants_owner) return;
  OwnerSearch search(context, snapshot.python, disk);
  for (const LoadedObject& object : snapshot.objects) {
    if (object.state == FileState::memory) continue;
    if (context.rules.wants_owner(object.elf.get(), object.path())) {
      search.add(object.path(), OwnerEffort::exhaustive);
    }
  }
  for (const InstalledFile& file : snapshot.installed) search.add(file.path, OwnerEffort::likely);
  for (const auto& [path, entry] : snapshot.disk) {
    if (entry.kind == DiskKind::file && context.rules.wants_owner(entry.elf.get(), path)) {
      search.add(path, OwnerEffort::likely);
    }
  }
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
  snapshot.owners = search.take();
  auto& notes = snapshot.capture.notes;
  notes.insert(notes.end(), search.notes().begin(), search.notes().end());
}

}  // namespace cudart_doctor
