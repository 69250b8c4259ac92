// Where cuda-pathfinder looks for the runtime's file, by vintage.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/analyze/step_log.hpp"
#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

/// Which file of a folder is taken.
enum class FileChoice : std::uint8_t {
  sonames,  ///< The first of the vintage's sonames that is there.
  newest,   ///< libcudart.so, else the greatest name libcudart.so*.
  oldest,   ///< libcudart.so, else the smallest name libcudart.so*.
};

/// What differs between releases.
struct PathfinderVintage {
  std::span<const std::string_view> loaded_names;  ///< Asked with RTLD_NOLOAD, in order.
  std::span<const std::string_view> system_names;  ///< Opened by the loader's own search, in order.
  std::span<const std::string_view> folders;       ///< Below a site directory, in order.
  FileChoice choice = FileChoice::sonames;
  std::span<const std::string_view> roots;  ///< Variables of the toolkit, the first set one counts.
  bool uses_conda = true;
  std::string_view searched_for;  ///< As its error says it.
};

/// A search that ends at a file, at nothing, or in doubt.
struct PathfinderHit {
  std::string path;                 ///< "" for nothing.
  std::vector<std::string> doubts;  ///< Earlier places that could not be looked into.
};

/// Site directories, then the Conda environment.
PathfinderHit find_early(const Snapshot& snapshot, const PathfinderVintage& vintage, StepLog& log);
/// The toolkit that a variable names.
PathfinderHit find_late(const Snapshot& snapshot, const PathfinderVintage& vintage, StepLog& log);

/// What both will want to know about the disk.
std::vector<DiskRequest> wanted_by_pathfinder(const Snapshot& snapshot,
                                              const PathfinderVintage& vintage);

}  // namespace cudart_doctor
