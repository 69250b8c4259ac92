// The story of the library that matters most, for the timeline.
#pragma once

#include <optional>

#include "cudart_doctor/model/report.hpp"

namespace cudart_doctor {

/// `timeline` with its rows; nothing where no library of CUDA is in the process.
std::optional<Story> find_story(const Report& report, const Recording& recording,
                                const Timeline& timeline);

}  // namespace cudart_doctor
