// Notes: the GNU build-id and the text by which a forward-compatibility libcuda names the drivers
// that it may run on.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "elf_image.hpp"

namespace cudart_doctor::elf {

struct Notes {
  std::optional<std::string> build_id;     ///< Lower-case hexadecimal.
  std::optional<std::string> compat_text;  ///< JSON.
  bool cut = false;                        ///< An entry did not fit.
};

/// Reads all PT_NOTE segments, 64 KiB of them at most.
Notes read_notes(ImageBytes& image, std::vector<std::string>& damage);

/// Takes what is still missing in `notes` from the entries of one note section or segment.
/// Returns false where an entry does not fit.
bool parse_notes(std::span<const std::byte> bytes, std::uint64_t alignment, Notes& notes);

}  // namespace cudart_doctor::elf
