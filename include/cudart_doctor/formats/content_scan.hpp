// Search through an object's bytes for what tells a runtime: the version constant in code, the
// four yardstick strings, texts of known look-alikes, a version carried as text.
#pragma once

#include <cstdint>
#include <vector>

#include "cudart_doctor/base/byte_source.hpp"
#include "cudart_doctor/formats/elf.hpp"
#include "cudart_doctor/model/elf_facts.hpp"

namespace cudart_doctor {

/// Searches the PT_LOAD segments of a file: executable ones for constants, all for texts.
/// Reads in blocks of 256 KiB, each byte once, nothing is held beyond a block and its overlap.
/// `machine` is e_machine. Errors: io.
Result<ContentScan> scan_contents(ByteSource& source, const std::vector<ProgramHeader>& headers,
                                  std::uint16_t machine);

}  // namespace cudart_doctor
