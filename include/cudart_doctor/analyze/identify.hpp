// Identity by contents: four independent witnesses (name, soname, version node, constant in code),
// the yardstick strings and the export census. The file name is evidence, never proof.
#pragma once

#include <string_view>

#include "cudart_doctor/base/fact.hpp"
#include "cudart_doctor/model/candidate.hpp"
#include "cudart_doctor/model/elf_facts.hpp"

namespace cudart_doctor {

/// What a runtime-like object is; fills kind, version, label, missing, evidence and the flags that
/// follow from contents. `path` as bytes. Returns kind not_a_runtime with empty evidence where
/// nothing at all points to a runtime (the caller drops those).
Candidate identify_runtime(std::string_view path, const Fact<ElfFacts>& elf,
                           const Fact<ContentScan>& content);

/// What a driver-, NVRTC- or NVML-like object is. `undetermined` with empty evidence: none of them.
Companion identify_companion(std::string_view path, const Fact<ElfFacts>& elf,
                             const Fact<ContentScan>& content);

}  // namespace cudart_doctor
