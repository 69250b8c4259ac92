// glibc's dlopen of a bare name, simulated: loaded objects by name and soname, then RPATH,
// LD_LIBRARY_PATH, RUNPATH, ld.so.cache and the default directories. Every step is recorded.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/model/selection.hpp"
#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

/// Whether what is loaded now counts, or only what a new process of the same program would find.
enum class LoaderStart : bool { running, fresh };

struct LoaderQuery {
  std::string_view name;              ///< "libcudart.so.12"
  std::optional<std::size_t> caller;  ///< Object whose code calls dlopen; none: the main program.
  std::string_view caller_file = {};  ///< A file of Snapshot::disk that calls instead; "" for none.
  LoaderStart start = LoaderStart::running;
};

struct LoaderAnswer {
  Outcome outcome = Outcome::not_found;  ///< selected, not_found or undetermined.
  std::optional<std::size_t> object;     ///< The mapped object that it ends at.
  std::optional<std::string> disk_path;  ///< The file that the search found, or ended at.
  OpenOutcome open = OpenOutcome::not_asked;
  std::string note;
  std::string error_text;             ///< dlerror()'s text when nothing is found.
  std::vector<std::string> possible;  ///< For undetermined: between what.
  std::vector<Step> steps;
};

/// A name with a '/' is opened as a path. Pure; errors are answers.
LoaderAnswer simulate_dlopen(const Snapshot& snapshot, const LoaderQuery& query);

/// True where the loader is known to find nothing at all under this name. False where a file ends
/// the search, and where a place could not be looked into (a relative element, a hwcaps directory).
bool is_surely_missing(const Snapshot& snapshot, const LoaderQuery& query);

/// What simulate_dlopen will want to know about the disk.
std::vector<DiskRequest> wanted_by_dlopen(const Snapshot& snapshot, const LoaderQuery& query);

/// The object from which Python's ctypes calls dlopen: its _ctypes extension, where mapped.
std::optional<std::size_t> ctypes_caller(const Snapshot& snapshot);

}  // namespace cudart_doctor
