// Relocations that put the address of a symbol into a slot: where an object keeps what the loader
// found for it.
#pragma once

#include <vector>

#include "cudart_doctor/formats/elf.hpp"
#include "elf_dynamic.hpp"
#include "elf_symbols.hpp"

namespace cudart_doctor::elf {

/// The slots of `names`, which are in the order of the symbol table: each address once, ascending.
/// Tables are read piece by piece. Errors: see ElfReader::read_slots.
Result<std::vector<SlotPlace>> read_slots(ImageBytes& image, const Dynamic& dynamic,
                                          const std::vector<UndefinedName>& names);

}  // namespace cudart_doctor::elf
