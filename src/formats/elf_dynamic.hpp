// The dynamic section: what the dynamic linker itself goes by.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "elf_image.hpp"

namespace cudart_doctor::elf {

/// Entries of PT_DYNAMIC. Of a tag that occurs twice the last one counts, as in glibc.
/// Addresses have the load bias taken off; names are offsets into the string table.
struct Dynamic {
  bool present = false;
  std::optional<std::uint64_t> strings;
  std::uint64_t strings_size = 0;
  std::optional<std::uint64_t> symbols;
  std::optional<std::uint64_t> sysv_hash;
  std::optional<std::uint64_t> gnu_hash;
  std::optional<std::uint64_t> versions;
  std::optional<std::uint64_t> definitions;
  std::optional<std::uint64_t> needs;
  std::uint64_t definition_count = 0;
  std::uint64_t need_count = 0;
  std::optional<std::uint64_t> soname;
  std::optional<std::uint64_t> rpath;
  std::optional<std::uint64_t> runpath;
  std::vector<std::uint64_t> needed;
  bool symbolic = false;
  std::optional<std::uint64_t> relocations;
  std::uint64_t relocations_size = 0;
  std::uint64_t relative_count = 0;  ///< How many of them, the first ones, name no symbol.
  std::optional<std::uint64_t> jump_relocations;
  std::uint64_t jump_relocations_size = 0;
  bool jump_relocations_have_addends = true;
};

/// Reads PT_DYNAMIC; what cannot be read is told in `damage`.
Dynamic read_dynamic(ImageBytes& image, std::vector<std::string>& damage);

/// The text at `offset` of the dynamic string table.
std::optional<std::string> read_dynamic_text(ImageBytes& image, const Dynamic& dynamic,
                                             std::uint64_t offset);

}  // namespace cudart_doctor::elf
