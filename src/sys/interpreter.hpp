// The first lines of a script.
#pragma once

#include <string>
#include <string_view>

namespace cudart_doctor {

/// The file that runs a script which begins with `head`; "" where that is not known.
std::string interpreter_of(std::string_view head);

}  // namespace cudart_doctor
