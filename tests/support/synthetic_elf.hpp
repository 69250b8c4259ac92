// ELF facts as the readers would give them, made without a file: the kinds of object that tests
// and case files speak of. Figures are those of the real libraries.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/model/elf_facts.hpp"

namespace cudart_doctor::test {

struct SyntheticElf {
  ElfFacts elf;
  ContentScan content;
};

/// A genuine runtime of `version` ("12.4" or "12.4.127"): version node of its major whatever the
/// soname, constant twice, four yardstick strings, 402 runtime functions less the `missing` ones.
SyntheticElf make_genuine_runtime(std::string_view soname, std::string_view version,
                                  const std::vector<std::string>& missing = {});

/// Something that offers the names scanning consumers bind, less the `missing` ones, and nothing
/// else of a runtime: no version node, no constant, no yardstick string.
SyntheticElf make_lookalike(std::string_view soname, const std::vector<std::string>& missing = {});

/// A genuine libcuda that carries `version` as text ("550.163.01").
SyntheticElf make_driver(std::string_view version);

/// The toolkit's link-time libcuda of `size` bytes: libcuda.so.1, needs nothing, cuInit constant.
SyntheticElf make_driver_stub(std::uint64_t size);

/// A genuine libnvrtc that carries `version` as text ("12.4.127").
SyntheticElf make_nvrtc(std::string_view soname, std::string_view version);

/// Any other shared object; an empty soname leaves DT_SONAME out.
SyntheticElf make_plain(std::string_view soname = {});

/// An object with the runtime of `version` linked in: strings and constant, no exported name.
SyntheticElf make_static_copy(std::string_view version);

/// "libcudart.so.11.0", "libcudart.so.12": the public soname of a runtime version's major.
std::string public_soname(std::string_view version);

}  // namespace cudart_doctor::test
