// Numbers of the ELF format that the reader uses (gABI, GNU extensions), and little-endian loads.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace cudart_doctor::elf {

static_assert(std::endian::native == std::endian::little, "the reader's own byte order");

inline constexpr std::size_t kHeaderSize = 64;
inline constexpr std::size_t kProgramHeaderSize = 56;
inline constexpr std::size_t kSectionHeaderSize = 64;
inline constexpr std::size_t kDynamicSize = 16;
inline constexpr std::size_t kSymbolSize = 24;
inline constexpr std::size_t kRelocationSize = 24;

inline constexpr std::uint32_t kMaxProgramHeaders = 256;
inline constexpr std::uint64_t kMaxDynamicEntries = 4096;
inline constexpr std::uint64_t kMaxSymbols = 1U << 20U;
inline constexpr std::size_t kMaxString = 4096;
inline constexpr std::uint64_t kMaxNoteBytes = std::uint64_t{64} * 1024;
inline constexpr std::uint64_t kMaxSections = std::uint64_t{64} * 1024;
inline constexpr std::uint64_t kMaxSectionNames = 1U << 20U;
inline constexpr std::uint32_t kMaxVersionEntries = 8 * 1024;

inline constexpr std::uint32_t kPtLoad = 1;
inline constexpr std::uint32_t kPtDynamic = 2;
inline constexpr std::uint32_t kPtInterp = 3;
inline constexpr std::uint32_t kPtNote = 4;
inline constexpr std::uint32_t kPfExecute = 1;

inline constexpr std::uint16_t kMachineAmd64 = 62;
inline constexpr std::uint16_t kMachineAarch64 = 183;

inline constexpr std::uint64_t kDtNull = 0;
inline constexpr std::uint64_t kDtNeeded = 1;
inline constexpr std::uint64_t kDtPltrelsz = 2;
inline constexpr std::uint64_t kDtHash = 4;
inline constexpr std::uint64_t kDtStrtab = 5;
inline constexpr std::uint64_t kDtSymtab = 6;
inline constexpr std::uint64_t kDtRela = 7;
inline constexpr std::uint64_t kDtRelasz = 8;
inline constexpr std::uint64_t kDtStrsz = 10;
inline constexpr std::uint64_t kDtSoname = 14;
inline constexpr std::uint64_t kDtRpath = 15;
inline constexpr std::uint64_t kDtSymbolic = 16;
inline constexpr std::uint64_t kDtPltrel = 20;
inline constexpr std::uint64_t kDtJmprel = 23;
inline constexpr std::uint64_t kDtRunpath = 29;
inline constexpr std::uint64_t kDtFlags = 30;
inline constexpr std::uint64_t kDtGnuHash = 0x6ffffef5;
inline constexpr std::uint64_t kDtVersym = 0x6ffffff0;
inline constexpr std::uint64_t kDtRelacount = 0x6ffffff9;
inline constexpr std::uint64_t kDtVerdef = 0x6ffffffc;
inline constexpr std::uint64_t kDtVerdefnum = 0x6ffffffd;
inline constexpr std::uint64_t kDtVerneed = 0x6ffffffe;
inline constexpr std::uint64_t kDtVerneednum = 0x6fffffff;
inline constexpr std::uint64_t kDfSymbolic = 2;

inline constexpr std::uint16_t kVerFlagBase = 1;
inline constexpr std::uint16_t kVersymIndex = 0x7fff;  ///< The top bit says "hidden".

inline constexpr unsigned kSttFunc = 2;
inline constexpr unsigned kSttGnuIfunc = 10;
inline constexpr unsigned kStbLocal = 0;
inline constexpr unsigned kStbWeak = 2;
inline constexpr std::uint16_t kShnUndef = 0;

/// The T at `at`; the caller has checked that it fits.
template <typename T>
T load(std::span<const std::byte> bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// `bytes` as text, without a cast onto another type's memory.
inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {static_cast<const char*>(static_cast<const void*>(bytes.data())), bytes.size()};
}

/// One Elf64_Sym.
struct Symbol {
  std::uint32_t name = 0;
  std::uint8_t info = 0;
  std::uint16_t section = 0;
  std::uint64_t value = 0;
  std::uint64_t size = 0;

  [[nodiscard]] unsigned type() const { return info & 0x0FU; }
  [[nodiscard]] unsigned binding() const { return info >> 4U; }
  [[nodiscard]] bool is_defined() const { return section != kShnUndef; }
  [[nodiscard]] bool is_function() const { return type() == kSttFunc || type() == kSttGnuIfunc; }
};

inline Symbol load_symbol(std::span<const std::byte> raw) {
  return {load<std::uint32_t>(raw, 0), load<std::uint8_t>(raw, 4), load<std::uint16_t>(raw, 6),
          load<std::uint64_t>(raw, 8), load<std::uint64_t>(raw, 16)};
}

}  // namespace cudart_doctor::elf
