// The recorder's library as it is inside the program.
#pragma once

#include <string_view>

namespace cudart_doctor {

/// Not yet told of its socket (kSocketPathMark).
std::string_view recorder_image();

}  // namespace cudart_doctor
