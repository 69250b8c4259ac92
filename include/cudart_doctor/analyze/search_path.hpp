// The directories that glibc searches for a bare name, in order, each with the reason why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

enum class SearchKind : std::uint8_t {
  directory,            ///< Look for the name in `directory`.
  current_directory,    ///< An empty element: the working directory, which is not known.
  environment_unknown,  ///< LD_LIBRARY_PATH could not be read: anything may stand here.
  cache,                ///< Ask ld.so.cache.
};

/// SearchEntry::source of the directories that are searched last.
inline constexpr std::string_view kDefaultDirectory = "default directory";

struct SearchEntry {
  SearchKind kind = SearchKind::directory;
  std::string directory;
  std::string source;       ///< "RPATH of /usr/bin/python3", "LD_LIBRARY_PATH"; printable.
  bool has_hwcaps = false;  ///< glibc-hwcaps subdirectories of it are searched before it.
};

/// In search order. `caller` is the object whose code calls dlopen; none: the main program. A
/// `caller_file` is a file of Snapshot::disk that would call instead.
std::vector<SearchEntry> search_path(const Snapshot& snapshot, std::optional<std::size_t> caller,
                                     std::string_view caller_file = {});

/// e_machine of the target: that of its main program, else of any object; 0 when unknown.
std::uint16_t target_machine(const Snapshot& snapshot);

}  // namespace cudart_doctor
