// One object's bytes to facts: the cheap look always, more where the rules ask for it.
#pragma once

#include <string_view>
#include <vector>

#include "cudart_doctor/base/byte_source.hpp"
#include "cudart_doctor/base/fact.hpp"
#include "cudart_doctor/collect/capture.hpp"
#include "cudart_doctor/formats/elf.hpp"
#include "cudart_doctor/model/elf_facts.hpp"

namespace cudart_doctor {

struct ElfLook {
  Fact<ElfFacts> elf;
  Fact<ContentScan> content;  ///< Not asked unless the rules want it.
  /// Where it keeps the addresses of runtime names that it does not define; not asked where it
  /// refers to none.
  Fact<std::vector<SlotPlace>> slots;
  ScanPlan plan;
  bool is_elf = false;    ///< The magic number is there.
  bool is_empty = false;  ///< The file held no byte when it was read.
};

/// Reads a file of known size.
ElfLook look_into_file(ByteSource& file, std::string_view path, const CaptureRules& rules);

/// Reads the image that is mapped at `base` in `memory`; contents are never searched there, since
/// an initialised image is not the file.
ElfLook look_into_image(ByteSource& memory, std::uint64_t base, std::string_view path,
                        const CaptureRules& rules);

}  // namespace cudart_doctor
