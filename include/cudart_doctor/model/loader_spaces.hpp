// Which loader namespaces a loaded file is in.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

/// Ids of the loader namespaces that have `object`: one file that dlmopen loaded again has a copy
/// of its variables in each. Empty where the link map is not known.
inline std::vector<std::uint32_t> loader_namespaces_of(const Snapshot& snapshot,
                                                       std::size_t object) {
  std::vector<std::uint32_t> out;
  const auto* spaces = snapshot.link_map.get();
  if (spaces == nullptr) return out;
  for (const LinkNamespace& space : *spaces) {
    // Only where l_ld lies tells: one path may have been two files.
    const auto is_it = [&](const LinkEntry& entry) { return entry.object == object; };
    if (std::ranges::any_of(space.entries, is_it)) out.push_back(space.id);
  }
  return out;
}

}  // namespace cudart_doctor
