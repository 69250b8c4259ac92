// The two symbol hash tables: look-up of a name as the dynamic linker does it, and how many
// symbols there are, which nothing else in a loaded image tells.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "elf_dynamic.hpp"

namespace cudart_doctor::elf {

/// A name with both of its hashes.
struct HashedName {
  std::string_view text;
  std::uint32_t gnu = 0;
  std::uint32_t sysv = 0;
};

constexpr std::uint32_t gnu_hash(std::string_view name) {
  std::uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  return hash;
}

constexpr std::uint32_t sysv_hash(std::string_view name) {
  std::uint32_t hash = 0;
  for (const char c : name) {
    hash = (hash << 4U) + static_cast<unsigned char>(c);
    const std::uint32_t high = hash & 0xf0000000U;
    hash ^= high >> 24U;
    hash &= ~high;
  }
  return hash;
}

constexpr HashedName make_hashed(std::string_view name) {
  return {name, gnu_hash(name), sysv_hash(name)};
}

/// Whether a symbol with one of the names is defined: by DT_GNU_HASH or, without one, DT_HASH.
bool defines_any(ImageBytes& image, const Dynamic& dynamic, std::span<const HashedName> names);

/// Number of dynamic symbols, the empty first one included; never more than 2^20. What the tables
/// claim beyond what is there is told in `damage`.
std::uint64_t count_symbols(ImageBytes& image, const Dynamic& dynamic,
                            std::vector<std::string>& damage);

/// The symbol at `index`, or nothing where it lies outside the object.
std::optional<Symbol> read_symbol(ImageBytes& image, const Dynamic& dynamic, std::uint64_t index);

}  // namespace cudart_doctor::elf
