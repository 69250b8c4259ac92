// The full walk over the dynamic symbols.
#pragma once

#include <optional>
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

/// The exported function whose code holds `vaddr`: of several names for it the first in the symbol
/// table. Nothing for code of functions that are not exported.
std::optional<std::string> function_at(ImageBytes& image, const Dynamic& dynamic,
                                       std::uint64_t vaddr);

}  // namespace cudart_doctor::elf
