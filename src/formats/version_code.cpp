#include "version_code.hpp"

#include <algorithm>
#include <cstring>

#include "elf_format.hpp"

namespace cudart_doctor {
namespace {

/// major * 1000 + minor * 10 of a CUDA version; the bounds are wide of every version seen.
bool is_plausible(std::uint32_t value) {
  return value >= 7000 && value <= 20000 && value % 10 == 0;
}

/// mov dword ptr [rdi], imm32: C7 07 and the immediate.
std::vector<std::uint32_t> find_x86(const CodeRange& range) {
  constexpr int kOpcode = 0xC7;
  constexpr std::byte kThroughRdi{0x07};
  constexpr std::size_t kSize = 6;
  std::vector<std::uint32_t> values;
  const std::size_t size = range.code.size();
  if (size < kSize) return values;
  const std::size_t end = std::min(range.starts, size - kSize + 1);
  for (std::size_t at = 0; at < end; ++at) {
    const void* const found = std::memchr(range.code.data() + at, kOpcode, end - at);
    if (found == nullptr) break;
    at = static_cast<std::size_t>(static_cast<const std::byte*>(found) - range.code.data());
    if (range.code[at + 1] != kThroughRdi) continue;
    const auto value = elf::load<std::uint32_t>(range.code, at + 2);
    if (is_plausible(value)) values.push_back(value);
  }
  return values;
}

/// movz w2, #imm and, one to three instructions later, str w2, [x1].
std::vector<std::uint32_t> find_aarch64(const CodeRange& range) {
  constexpr std::size_t kWord = 4;
  constexpr std::size_t kFarthest = 3;
  constexpr std::uint32_t kMoveMask = 0xffe0001f;
  constexpr std::uint32_t kMoveToW2 = 0x52800002;
  constexpr std::uint32_t kStoreW2 = 0xb9000022;
  std::vector<std::uint32_t> values;
  const std::size_t size = range.code.size();
  for (std::size_t at = (kWord - range.address % kWord) % kWord;
       at < range.starts && at + kWord <= size; at += kWord) {
    const auto word = elf::load<std::uint32_t>(range.code, at);
    if ((word & kMoveMask) != kMoveToW2) continue;
    const std::uint32_t value = (word >> 5U) & 0xffffU;
    if (!is_plausible(value)) continue;
    for (std::size_t step = 1; step <= kFarthest && at + (step + 1) * kWord <= size; ++step) {
      if (elf::load<std::uint32_t>(range.code, at + step * kWord) != kStoreW2) continue;
      values.push_back(value);
      break;
    }
  }
  return values;
}

}  // namespace

std::vector<std::uint32_t> find_version_code(const CodeRange& range, std::uint16_t machine) {
  if (machine == elf::kMachineX86_64) return find_x86(range);
  if (machine == elf::kMachineAarch64) return find_aarch64(range);
  return {};
}

}  // namespace cudart_doctor
