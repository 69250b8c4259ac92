// The version constant of libcudart in machine code: the store of an immediate through the first
// argument, as cudaRuntimeGetVersion and its internal twin do it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cudart_doctor {

/// Longest reach of one such store, in bytes: four AArch64 instructions.
inline constexpr std::size_t kVersionCodeReach = 16;

/// Values of all plausible stores that begin in the first `starts` bytes of `code`. `address` is
/// where `code` lies, for the alignment of AArch64 instructions; `machine` is e_machine.
struct CodeRange {
  std::span<const std::byte> code;
  std::size_t starts = 0;
  std::uint64_t address = 0;
};
std::vector<std::uint32_t> find_version_code(const CodeRange& range, std::uint16_t machine);

}  // namespace cudart_doctor
