// Search through an object's bytes for what tells a runtime: the version constant in code, the
// four yardstick strings, texts of known look-alikes, a version carried as text.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "cudart_doctor/base/byte_source.hpp"
#include "cudart_doctor/formats/elf.hpp"
#include "cudart_doctor/model/elf_facts.hpp"

namespace cudart_doctor {

/// Texts that every genuine libcudart from 11.8 to 13.0 holds, shared or linked in statically.
/// Found as whole C strings only.
inline constexpr std::array<std::string_view, 4> kYardstickTexts = {
    "libcuda.so.1",
    "CUDA driver is a stub library",
    "CUDA driver version is insufficient for CUDA runtime version",
    "CUDA_ENABLE_MODULE_LAZY_LOADING",
};

/// Texts that give a known look-alike, hook or consumer away; `markers` holds those that occur.
inline constexpr std::array<std::string_view, 17> kMarkerTexts = {
    // TileLang's stubs; the first three tell 0.1.8, 0.1.9 and later apart.
    "TileLang Error: libcudart symbols not found globally.",
    "TileLang Error: libcudart symbols not found.",
    "TileLang Error: cudart symbols not found.",
    "TileLang Error: nvrtc symbols not found.",
    "CUDA runtime stub: libcudart not found",
    "NVRTC stub: libnvrtc not found",
    "HIPRTC stub: libhiprtc not found",
    "CUDA driver library (libcuda.so) not found.",
    "HIP runtime library (libamdhip64.so) not found.",
    // NVIDIA's own stubs.
    "libnvidia-ml.so in GDK package is a stub library",
    "You are running using the stub version of nvrtc",
    // OvenMediaEngine's and XLA's stubs, HAMi-core's hook.
    "cuda stub: not supported",
    "Error loading CUDA libraries. GPU will not be used.",
    "CUDA_DEVICE_MEMORY_LIMIT",
    // Loader code of cuDNN's front end, compiled into its users.
    "Multiple libcudart libraries found",
    "Unable to load any libcudart",
    "CUDNN_FRONTEND_CUDART_LIB_NAME",
};

/// With fewer of the yardstick texts nothing is a runtime, whatever its code says.
inline constexpr std::size_t kFewestYardstickTexts = 2;

/// Searches the PT_LOAD segments of a file: executable ones for constants, all for texts.
/// Reads in blocks of 64 KiB, each byte once, nothing is held beyond a block and its overlap.
/// `machine` is e_machine. Where `parts` (ElfReader::content_parts) says where constants lie, texts
/// are searched only there, and version constants only in its code, and only where
/// kFewestYardstickTexts were found. Errors: io.
Result<ContentScan> scan_contents(ByteSource& source, const std::vector<ProgramHeader>& headers,
                                  std::uint16_t machine, const ContentParts& parts = {});

}  // namespace cudart_doctor
