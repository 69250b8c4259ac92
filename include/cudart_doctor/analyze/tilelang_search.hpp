// Where TileLang's shim looks for a runtime on disk when nothing is loaded and the loader finds
// nothing, and how it sorts what it finds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

/// The sort key of a file name: up to four numbers behind "libcudart.so", 10^4 each.
std::uint64_t tilelang_version_key(std::string_view path);

/// True when `a` is tried before `b`: higher key, then the greater path.
bool tilelang_prefers(std::string_view a, std::string_view b);

/// Files named libcudart.so* that the shim's disk search finds, best first.
std::vector<std::string> tilelang_disk_files(const Snapshot& snapshot, std::size_t shim);

/// What tilelang_disk_files will want to know.
std::vector<DiskRequest> wanted_by_tilelang_search(const Snapshot& snapshot, std::size_t shim);

}  // namespace cudart_doctor
