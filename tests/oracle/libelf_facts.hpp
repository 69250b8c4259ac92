// What libelf says about a file, in the terms that the oracle compares.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace cudart_doctor::oracle {

struct LibelfFacts {
  std::string soname;
  std::string rpath;
  std::string runpath;
  std::string build_id;
  std::vector<std::string> needed;
  std::vector<std::string> definitions;  ///< Version nodes, the base one first where there is one.
  std::size_t defined_symbols = 0;       ///< In .dynsym, not local.
  std::vector<std::string> exports;      ///< Defined names of the CUDA families, sorted, unique.
  std::vector<std::string> undefined;    ///< Undefined ones, sorted.
  /// "12288 cudaMalloc": places that a relocation fills with the address of an undefined name of
  /// the runtime, ascending, each once.
  std::vector<std::string> slots;
};

/// Facts of a 64-bit little-endian object with section headers; nothing for any other file.
std::optional<LibelfFacts> read_with_libelf(int fd);

}  // namespace cudart_doctor::oracle
