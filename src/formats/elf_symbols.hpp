// The full walk over the dynamic symbols.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cudart_doctor/model/elf_facts.hpp"
#include "elf_dynamic.hpp"

namespace cudart_doctor::elf {

/// Fills the symbol lists and counts of `facts`; damage goes there too. `needed_by_index` gives
/// the version node behind a versym index.
void walk_symbols(ImageBytes& image, const Dynamic& dynamic,
                  const std::map<std::uint16_t, std::string>& needed_by_index, ElfFacts& facts);

}  // namespace cudart_doctor::elf
