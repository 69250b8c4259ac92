// Reasons for an unknown link map that rules tell apart from others.
#pragma once

#include <string_view>

namespace cudart_doctor {

/// The program has an interpreter (ld.so), which has loaded nothing yet: what is missing now says
/// nothing about the program.
inline constexpr std::string_view kLoaderHasNotRun =
    "the process is still starting: its loader has not run yet";

}  // namespace cudart_doctor
