// The full walk over the dynamic symbols.
#pragma once

#include <string>
#include <vector>

#include "cudart_doctor/model/elf_facts.hpp"
#include "elf_dynamic.hpp"
#include "elf_versions.hpp"

namespace cudart_doctor::elf {

/// A name of the runtime that the object does not define, weak ones included.
struct UndefinedName {
  std::uint64_t index = 0;  ///< In the symbol table.
  std::string name;
  std::string version;  ///< "" for none.
};

/// Fills the symbol lists and counts of `facts`; damage goes there too. Returns the undefined names
/// of the runtime, in the order of the symbol table.
std::vector<UndefinedName> walk_symbols(ImageBytes& image, const Dynamic& dynamic,
                                        const VersionTables& versions, ElfFacts& facts);

}  // namespace cudart_doctor::elf
