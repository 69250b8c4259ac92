// What the loader is told in texts: the lists of LD_LIBRARY_PATH and LD_PRELOAD, and how findings
// name their entries.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

/// The list of what every new process gets.
inline constexpr const char* kPreloadFile = "/etc/ld.so.preload";

/// "LD_LIBRARY_PATH entry 2 of 3 is DIR", printable; "" where the variable does not list the
/// directory of `path`, or is not known.
std::string entry_that_brought(const Snapshot& snapshot, std::string_view path);

/// LD_PRELOAD's entries: separated by blanks or colons.
std::vector<std::string> preload_entries(std::string_view list);

/// The entries of the text of /etc/ld.so.preload, which may have several lines and comments.
std::vector<std::string> preload_file_entries(std::string_view text);

}  // namespace cudart_doctor
