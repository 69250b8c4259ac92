// Which objects are worth a record.
#pragma once

#include <cstdint>
#include <string_view>

#include "loaded_object.hpp"

namespace cudart_doctor::recorder {

enum class Interest : std::uint8_t {
  none,
  hook,    ///< It defines dlopen or dlsym and is not the C library: it sees what others open.
  family,  ///< Of CUDA by its name or by what it defines, or in need of such an object.
};

/// `path` as the loader has it; "" for the program.
Interest interest_in(const LoadedObject& object, std::string_view path);

/// Whether LeakSanitizer is in it, alone or as a part of AddressSanitizer. It traces its own process
/// at the end, which a second tracer would make fail.
bool checks_leaks(const LoadedObject& object);

/// The C library's objects and the loader, which hand on what others ask for.
bool is_c_library(std::string_view path);

}  // namespace cudart_doctor::recorder
