#include "tilelang_shim.hpp"

#include <algorithm>

#include "cudart_doctor/analyze/names.hpp"
#include "cudart_doctor/base/text.hpp"
#include "runtime_signs.hpp"

namespace cudart_doctor {
namespace {

// With 12.x headers a macro turns the properties entry into its _v2 form; two names of the shim are
// optional in the library that it forwards to, so they are not in the bound list.
bool is_shim_name(std::string_view name) {
  if (name == "cudaGetDeviceProperties_v2" || name == "cudaFuncSetAttribute" ||
      name == "cudaGetErrorString") {
    return true;
  }
  const auto names = names_tilelang();
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool has_all_shim_names(const std::vector<std::string>& exports) {
  const auto exported = [&](std::string_view name) {
    return std::find(exports.begin(), exports.end(), name) != exports.end();
  };
  const auto names = names_tilelang();
  return std::all_of(names.begin(), names.end(), [&](std::string_view name) {
    return exported(name) ||
           (name == "cudaGetDeviceProperties" && exported("cudaGetDeviceProperties_v2"));
  });
}

std::uint8_t groups_of_text(const ContentScan* content) {
  if (has_marker(content, "libcudart symbols not found globally")) return kTilelang018;
  if (has_marker(content, "libcudart symbols not found")) return kTilelang019;
  if (has_marker(content, "cudart symbols not found")) return kTilelang0110 | kTilelang0112;
  return kTilelangAll;
}

std::uint8_t groups_of_name(std::string_view name) {
  if (name == "libcudart_stub.so") return kTilelang018 | kTilelang019 | kTilelang0110;
  if (name == "libstub_cudart.so") return kTilelang0112;
  return kTilelangAll;
}

// From 0.1.10 on weak C++ symbols leak: 64 defined symbols in the wheels, 71 in another build.
std::uint8_t groups_of_count(const ElfFacts& elf) {
  if (!elf.symbols_walked) return kTilelangAll;
  return elf.defined_symbols > elf.census.runtime ? kTilelang0110 | kTilelang0112
                                                  : kTilelang018 | kTilelang019;
}

}  // namespace

TilelangShim inspect_tilelang_shim(std::string_view path, const ElfFacts& elf,
                                   const ContentScan* content) {
  TilelangShim found;
  const bool has_text = has_marker(content, "CUDA runtime stub: libcudart not found") ||
                        has_marker(content, "cudart symbols not found");
  const bool only_shim_names = elf.symbols_walked && !elf.exports.empty() &&
                               std::all_of(elf.exports.begin(), elf.exports.end(), is_shim_name);
  const bool all_names = only_shim_names && has_all_shim_names(elf.exports);

  const std::string_view base = base_name(path);
  const std::uint8_t by_name = groups_of_name(elf.soname ? *elf.soname : base);
  const bool shim_name = by_name != kTilelangAll;

  if (has_text) found.evidence.emplace_back("text of TileLang's shim found");
  if (all_names)
    found.evidence.emplace_back("exports the names of TileLang's shim, no others");
  else if (only_shim_names && shim_name) {
    found.evidence.emplace_back("exports a part of the names of TileLang's shim, no others");
  }
  if (shim_name) found.evidence.emplace_back("named like TileLang's shim");
  // A program that searches for the texts holds them too, but offers none of the names.
  const bool offers_names = !elf.symbols_walked || elf.census.runtime > 0;
  found.is_shim = offers_names && (has_text || all_names || (only_shim_names && shim_name));
  if (!found.is_shim) return {};

  found.groups = static_cast<std::uint8_t>(groups_of_text(content) & by_name);
  if (has_text || all_names) {
    found.groups = static_cast<std::uint8_t>(found.groups & groups_of_count(elf));
  }
  const std::string releases = tilelang_releases(found.groups);
  found.evidence.push_back(releases.empty() ? "signs of TileLang's version disagree"
                                            : "shape of TileLang " + releases);
  return found;
}

std::string tilelang_releases(std::uint8_t groups) {
  struct Row {
    std::uint8_t groups;
    const char* releases;
  };
  static constexpr Row kRows[] = {
      {kTilelang018, "0.1.8"},
      {kTilelang019, "0.1.9"},
      {kTilelang018 | kTilelang019, "0.1.8 or 0.1.9"},
      {kTilelang0110, "0.1.10 or 0.1.11"},
      {kTilelang0112, "0.1.12 or later"},
      {kTilelang0110 | kTilelang0112, "0.1.10 or later"},
      {kTilelang018 | kTilelang019 | kTilelang0110, "0.1.8 to 0.1.11"},
      {kTilelangAll, "0.1.8 or later"},
  };
  for (const Row& row : kRows) {
    if (row.groups == groups) return row.releases;
  }
  return {};
}

}  // namespace cudart_doctor
