// Who brought a runtime into the process, and who uses it: DT_NEEDED joined to the live link map,
// the order of loading beside the order of addresses, and where the slots of the global offset
// tables point now.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cudart_doctor {

/// Why an object is in the process.
enum class Arrival : std::uint8_t {
  unknown,  ///< Not loaded, or the link map or somebody's needs could not be read.
  program,  ///< The program itself.
  preload,  ///< LD_PRELOAD or /etc/ld.so.preload names it.
  needed,   ///< DT_NEEDED of a loaded object leads to it.
  opened,   ///< No one that is loaded needs it: dlopen, or who needed it was unloaded.
};

/// A loaded object whose DT_NEEDED leads to the candidate.
struct NeededBy {
  std::size_t object = 0;  ///< Index into Snapshot::objects.
  std::string soname;      ///< The entry, as bytes.
};

/// An object whose slots for runtime names point into the candidate now.
struct SlotUse {
  std::size_t object = 0;          ///< Index into Snapshot::objects.
  std::vector<std::string> names;  ///< Sorted, each once.
};

/// Of one candidate; Report::provenance has one for each, in the order of Report::candidates.
struct Provenance {
  std::uint32_t loader_namespace = 0;       ///< 0 is the base; others come from dlmopen.
  std::optional<std::uint32_t> load_order;  ///< Place in its namespace's link map; 0: the program.
  Arrival arrival = Arrival::unknown;
  std::string arrival_note;         ///< "LD_PRELOAD"; why unknown; "" where nothing is to be added.
  std::vector<NeededBy> needed_by;  ///< In the order of Snapshot::objects.
  std::vector<SlotUse> used_by;
};

/// What a look-up of a runtime name in the global scope of the base namespace would give.
struct GlobalName {
  std::string name;
  /// The first definer, where it is certain; index into Snapshot::objects.
  std::optional<std::size_t> definer;
  std::string version;  ///< Version node of that definition; "" for a definition without one.
  /// From outside it does not show whether an opened object is global: all that could be first.
  std::vector<std::size_t> possible;
};

}  // namespace cudart_doctor
