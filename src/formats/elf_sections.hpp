// Section headers: used for names only, since no loader needs them and tools strip them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "elf_image.hpp"

namespace cudart_doctor::elf {

struct SectionFacts {
  std::optional<bool> device_code;         ///< Fat-binary sections; nothing where not readable.
  std::optional<std::string> compat_text;  ///< From .note.cuda.fwd_compatibility.
  /// From .note.gnu.build-id: patchelf moves that section to the end of the file and leaves
  /// PT_NOTE pointing at the old place, which it overwrites.
  std::optional<std::string> build_id;
  ContentParts parts;              ///< Executable sections; .rodata sections.
  std::uint64_t loaded_bytes = 0;  ///< Of all sections that are loaded from the file.
};

/// Looks through the names of a file's sections. Memory images have none.
SectionFacts read_sections(ImageBytes& image, std::vector<std::string>& damage);

}  // namespace cudart_doctor::elf
