// What name, soname, version node, code constant, texts and exports each say about an object that
// may be a CUDA runtime: the witnesses, before anything is concluded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/base/fact.hpp"
#include "cudart_doctor/model/elf_facts.hpp"

namespace cudart_doctor {

/// 389 to 458 runtime functions are exported by every runtime from 11.7 to 13.5.
inline constexpr std::uint32_t kGenuineExports = 350;
/// Below this an object offers only a part of the API.
inline constexpr std::uint32_t kPartialExports = 100;

/// A public runtime name: "libcudart.so.11.0" gives major 11.
struct RuntimeName {
  int major = 0;
  std::string full_version;  ///< "12.4.127" where the name carries three numbers.
};

/// Reads `name` as "libcudart.so.N[.N[.N]]"; nothing for any other shape.
std::optional<RuntimeName> parse_runtime_name(std::string_view name);

/// The yardstick strings that a runtime of this constant has: the text about a stub driver came
/// with 11.1, the lazy loading variable with 11.8 (11.7.99 does not have it).
std::size_t expected_yardstick(std::uint32_t constant);

struct RuntimeSigns {
  std::string_view base;              ///< File name, mark-free.
  std::optional<RuntimeName> name;    ///< The file name, where it is a public one.
  bool name_has_cudart = false;       ///< A library's name with the word in it, in any letter case.
  bool named_like_library = false;    ///< "libcudart*", "libstub_cudart*".
  std::optional<RuntimeName> soname;  ///< DT_SONAME, where it is a public one.
  bool sonamed_like_library = false;
  std::optional<std::string> node;  ///< The version node named like a public soname.
  std::optional<int> node_major;
  bool content_seen = false;
  std::optional<std::uint32_t> constant;  ///< The one value found at least twice.
  bool constants_disagree = false;        ///< Two values, each at least twice.
  std::size_t yardstick = 0;
  bool exports_known = false;
  std::uint32_t exported = 0;
  bool is_cut = false;                     ///< The file ends before its segments do.
  std::vector<std::string> foreign_needs;  ///< Needed libraries that no genuine runtime needs.

  [[nodiscard]] bool claims_the_name() const { return named_like_library || sonamed_like_library; }
  /// Constant twice and the texts of that version: code that NVIDIA's runtime consists of.
  [[nodiscard]] bool has_runtime_code() const {
    return constant && yardstick >= expected_yardstick(*constant);
  }
};

RuntimeSigns gather_runtime_signs(std::string_view path, const ElfFacts& elf,
                                  const ContentScan* content);

/// `text` made printable and cut so that it fits into an evidence sentence.
std::string shown(std::string_view text);

/// "12.4" for 12040.
std::string constant_version(std::uint32_t constant);

/// Whether some scanning rule could take a file of this name.
bool is_selectable_name(std::string_view base);

/// "x.so" or "x.so.12.4", but not "x.so.json" or "x.a".
bool ends_like_library(std::string_view base);

/// Whether one of the scan's marker texts contains `needle`.
bool has_marker(const ContentScan* content, std::string_view needle);

}  // namespace cudart_doctor
