// What instructions and addresses of aarch64 say; pure, so that every architecture's tests cover
// it.
#pragma once

#include <cstdint>

namespace cudart_doctor::recorder::aarch64 {

/// A return address as it is on a stack may be signed (pointer authentication) above bit 48. No
/// kernel maps there unless it is asked to.
constexpr std::uint64_t without_signature(std::uint64_t address) {
  return address & ((std::uint64_t{1} << 48U) - 1);
}

constexpr bool is_branch_with_link(std::uint32_t code) {
  return (code & 0xFC000000U) == 0x94000000U;
}

/// BL, BLR and the forms of BLR that authenticate: BLRAAZ, BLRABZ, BLRAA, BLRAB.
constexpr bool is_call(std::uint32_t code) {
  return is_branch_with_link(code) || (code & 0xFFFFFC1FU) == 0xD63F0000U ||
         (code & 0xFFFFF81FU) == 0xD63F081FU || (code & 0xFFFFF800U) == 0xD73F0800U;
}

/// The low `bits` of a number, as a signed one.
constexpr std::uint64_t sign_extended(std::uint64_t number, unsigned bits) {
  const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
  return ((number & (2 * sign - 1)) ^ sign) - sign;
}

/// Where a BL at `place` goes; 0 for other instructions: only the registers of that moment knew.
constexpr std::uint64_t branch_target(std::uint64_t place, std::uint32_t code) {
  if (!is_branch_with_link(code)) return 0;
  return place + sign_extended(std::uint64_t{code & 0x03FFFFFFU} << 2U, 28);
}

/// The slot that a stub of the PLT at `place` jumps through; 0 where no stub begins. `code` are its
/// first three instructions: ADRP x16, LDR x17 from [x16], with or without BTI c before them.
constexpr std::uint64_t stub_slot(std::uint64_t place, const std::uint32_t (&code)[3]) {
  constexpr std::uint32_t kLandingPad = 0xD503245FU;
  const unsigned at = code[0] == kLandingPad ? 1 : 0;
  const std::uint32_t page = code[at];
  const std::uint32_t load = code[at + 1];
  if ((page & 0x9F00001FU) != 0x90000010U || (load & 0xFFC003FFU) != 0xF9400211U) return 0;
  const std::uint64_t pages = (page >> 5U & 0x7FFFFU) << 2U | (page >> 29U & 3U);
  // ADRP counts in 4 KiB whatever the kernel's pages are.
  const std::uint64_t base = (place + 4 * at) & ~std::uint64_t{0xFFF};
  return base + (sign_extended(pages, 21) << 12U) + (std::uint64_t{load >> 10U & 0xFFFU} << 3U);
}

}  // namespace cudart_doctor::recorder::aarch64
