// Makes small ELF64 shared objects in memory for tests: everything that the reader looks at can be
// chosen, and every field can be made to lie afterwards by overwriting it at its offset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cudart_doctor::test {

struct ElfSymbol {
  std::string name;
  bool defined = true;
  unsigned type = 2;      ///< STT_FUNC; 1 is an object, 10 an indirect function.
  unsigned binding = 1;   ///< STB_GLOBAL; 0 is local, 2 weak.
  std::string version{};  ///< A node of `version_definitions`, `version_base` or a need; "" none.
  std::uint64_t code_offset = 0;  ///< Where in `code` a defined symbol lies.
  bool absolute = false;
};

struct ElfNote {
  std::string owner;
  std::uint32_t type = 0;
  std::string text;  ///< The descriptor, as bytes.
};

struct ElfSection {
  std::string name;
  std::uint32_t type = 1;  ///< SHT_PROGBITS; 7 is a note.
  std::string content;
  std::uint64_t alignment = 4;
};

struct ElfNeed {
  std::string file;
  std::vector<std::string> versions;
};

struct ElfRelocation {
  std::uint64_t place = 0;  ///< vaddr of the slot.
  std::uint32_t type = 0;   ///< x86-64: 7 jump slot, 6 global data, 1 absolute, 8 relative.
  std::string symbol{};     ///< "" for none.
  std::uint64_t addend = 0;
};

enum class ElfHash : std::uint8_t { none, gnu, sysv, both };

struct ElfSpec {
  std::uint16_t type = 3;      ///< ET_DYN
  std::uint16_t machine = 62;  ///< x86-64; 183 is AArch64
  std::optional<std::string> soname;
  std::optional<std::string> rpath;
  std::optional<std::string> runpath;
  std::optional<std::string> interpreter;
  std::vector<std::string> needed;
  std::optional<std::string> version_base;
  std::vector<std::string> version_definitions;
  std::vector<ElfNeed> version_needs;
  std::vector<ElfSymbol> symbols;
  ElfHash hash = ElfHash::gnu;
  std::vector<ElfRelocation> relocations;       ///< DT_RELA
  std::uint64_t relative_count = 0;             ///< DT_RELACOUNT; 0: no such entry.
  std::vector<ElfRelocation> jump_relocations;  ///< DT_JMPREL
  std::vector<ElfNote> notes;
  std::uint64_t note_alignment = 4;
  std::vector<ElfSection> sections;  ///< Beside the string table of section names.
  std::string code;                  ///< Contents of the executable segment.
  std::string data;                  ///< Contents in the read-only segment.
  bool symbolic = false;
  bool section_headers = true;
};

/// A finished object. `at` gives the file offsets of its parts: "phdr", "notes", "gnu_hash",
/// "sysv_hash", "dynsym", "rela", "jmprel", "dynstr", "versym", "verdef", "verneed", "data",
/// "code", "dynamic", "shdr", "shstrtab"; absent parts are not listed.
struct BuiltElf {
  std::vector<std::byte> bytes;
  std::map<std::string, std::uint64_t> at;

  void set_u8(std::uint64_t offset, std::uint8_t value);
  void set_u16(std::uint64_t offset, std::uint16_t value);
  void set_u32(std::uint64_t offset, std::uint32_t value);
  void set_u64(std::uint64_t offset, std::uint64_t value);
  [[nodiscard]] std::uint32_t u32(std::uint64_t offset) const;
  [[nodiscard]] std::uint64_t u64(std::uint64_t offset) const;
  /// Offset of the value of the first dynamic entry with that tag; throws where there is none.
  [[nodiscard]] std::uint64_t dynamic_value(std::uint64_t tag) const;
  /// Offset of the first program header of that type; throws where there is none.
  [[nodiscard]] std::uint64_t segment(std::uint32_t type) const;
};

BuiltElf build_elf(const ElfSpec& spec);

enum class DynamicPointers : std::uint8_t {
  absolute,  ///< As glibc leaves them: load bias added in place.
  relative,  ///< As in the vDSO and under musl.
};

/// The object as the loader would map it at `base`: what a memory source shows from `base` on.
std::vector<std::byte> load_elf(const BuiltElf& elf, std::uint64_t base, DynamicPointers pointers);

}  // namespace cudart_doctor::test
