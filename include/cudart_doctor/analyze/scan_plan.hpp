// Which objects deserve more than the cheap look: decided purely, asked by capture.
#pragma once

#include <string_view>

#include "cudart_doctor/model/elf_facts.hpp"

namespace cudart_doctor {

enum class ScanDepth : bool { usual, deep };

/// `path` is any of the object's paths, as bytes. Pure.
ScanPlan plan_scan(const ElfFacts& elf, std::string_view path, ScanDepth depth);

/// True when a path alone makes a file worth reading although it may be no ELF: its base name
/// contains cudart, libcuda, nvrtc or nvidia-ml, in any letter case.
bool is_cuda_name(std::string_view path);

/// True for files whose package findings name: what is a runtime, driver, NVRTC or NVML by name,
/// soname or exports, and the toolkit libraries of which RT10 compares the releases. `elf` is
/// nullptr where it is not known.
bool wants_owner(const ElfFacts* elf, std::string_view path);

}  // namespace cudart_doctor
