// Version definitions and needs (DT_VERDEF, DT_VERNEED): the node names behind versym indices.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cudart_doctor/model/elf_facts.hpp"
#include "elf_dynamic.hpp"

namespace cudart_doctor::elf {

struct VersionTables {
  std::optional<std::string> base;
  std::vector<std::string> definitions;
  std::vector<VersionNeed> needs;
  std::map<std::uint16_t, std::string> needed_by_index;   ///< versym index -> node of a need.
  std::map<std::uint16_t, std::string> defined_by_index;  ///< The same of definitions.
};

/// Reads both lists. Links only ever lead forward and their number is capped, so that neither a
/// cycle nor a pile of overlapping entries can hold the reader up.
VersionTables read_versions(ImageBytes& image, const Dynamic& dynamic,
                            std::vector<std::string>& damage);

}  // namespace cudart_doctor::elf
