// Does a function's code do nothing but return a constant? That is what a stub driver's cuInit is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cudart_doctor::elf {

/// Decodes the first instructions of `code` (64 bytes are enough). `machine` is e_machine.
bool returns_constant(std::span<const std::byte> code, std::uint16_t machine);

}  // namespace cudart_doctor::elf
