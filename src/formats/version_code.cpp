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

constexpr std::byte kMove{0xC7};
constexpr std::byte kThroughRdi{0x07};

/// Whether one of the kStep instructions that could begin here is the one that is looked for. In
/// this form, without a way out, compilers make it a few vector instructions.
constexpr std::size_t kStep = 64;
bool may_hold_store(const std::byte* code) {
  unsigned char any = 0;
  for (std::size_t i = 0; i < kStep; ++i) {
    any |= static_cast<unsigned char>(code[i] == kMove) &
           static_cast<unsigned char>(code[i + 1] == kThroughRdi);
  }
  return any != 0;
}

/// mov dword ptr [rdi], imm32: C7 07 and the immediate.
std::vector<std::uint32_t> find_x86(const CodeRange& range) {
  constexpr std::size_t kSize = 6;
  std::vector<std::uint32_t> values;
  const std::size_t size = range.code.size();
  if (size < kSize) return values;
  const std::size_t end = std::min(range.starts, size - kSize + 1);
  for (std::size_t block = 0; block < end; block += kStep) {
    const bool is_whole = block + kStep < size;  // The last instruction's second byte counts.
    if (is_whole && !may_hold_store(range.code.data() + block)) continue;
    for (std::size_t at = block; at < std::min(block + kStep, end); ++at) {
      if (range.code[at] != kMove || range.code[at + 1] != kThroughRdi) continue;
      const auto value = elf::load<std::uint32_t>(range.code, at + 2);
      if (is_plausible(value)) values.push_back(value);
    }
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
  if (machine == elf::kMachineAmd64) return find_x86(range);
  if (machine == elf::kMachineAarch64) return find_aarch64(range);
  return {};
}

}  // namespace cudart_doctor
