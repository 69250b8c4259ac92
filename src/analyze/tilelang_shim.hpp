// TileLang's stub libraries, told by their texts, their 39 names and the shape of their file names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/model/elf_facts.hpp"

namespace cudart_doctor {

/// Groups of releases that can be told apart by the library alone.
enum TilelangGroup : std::uint8_t {
  kTilelang018 = 1,   ///< 0.1.8
  kTilelang019 = 2,   ///< 0.1.9
  kTilelang0110 = 4,  ///< 0.1.10, 0.1.11
  kTilelang0112 = 8,  ///< 0.1.12 and later
  kTilelangAll = 15,
};

struct TilelangShim {
  bool is_shim = false;
  std::uint8_t groups = kTilelangAll;  ///< Releases that no sign speaks against; 0: signs disagree.
  std::vector<std::string> evidence;
};

/// Whether an object is TileLang's runtime shim. `content` may be nullptr (memory image).
TilelangShim inspect_tilelang_shim(std::string_view path, const ElfFacts& elf,
                                   const ContentScan* content);

/// "0.1.10 or 0.1.11"; "" for 0 (the signs disagree).
std::string tilelang_releases(std::uint8_t groups);

}  // namespace cudart_doctor
