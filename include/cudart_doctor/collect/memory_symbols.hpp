// Look-up of one defined symbol in a loaded module, through its dynamic section in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "cudart_doctor/base/byte_source.hpp"
#include "cudart_doctor/collect/link_map.hpp"

namespace cudart_doctor {

/// Address of the symbol `name`, where `module` defines it and its tables can be read.
std::optional<std::uint64_t> find_symbol(ByteSource& memory, const LinkedModule& module,
                                         std::string_view name);

}  // namespace cudart_doctor
