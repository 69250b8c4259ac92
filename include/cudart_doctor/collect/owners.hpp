// Whose file it is: the package that brought each CUDA library, by the records of wheels, conda,
// dpkg and rpm in the target's view.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cudart_doctor/collect/capture_context.hpp"
#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

struct Owners {
  std::map<std::string, Fact<FileOwner>> by_path;
  std::vector<std::string> notes;  ///< For CaptureFacts::notes.
};

/// Whose the mapped objects that CaptureRules::wants_owner names and the installed files are. What
/// a path belongs to now, whatever file is mapped. Needs objects, installed files and the Python
/// environment to be there already, and leaves Snapshot::disk alone.
Owners find_owners(const CaptureContext& context, const Snapshot& snapshot);

/// Adds what was found to the snapshot.
void add_owners(Owners found, Snapshot& snapshot);

/// Adds to Snapshot::owners the other files on disk that CaptureRules::wants_owner names. A link
/// has the owner of the file that it leads to.
void find_more_owners(const CaptureContext& context, Snapshot& snapshot);

}  // namespace cudart_doctor
