// What the formats for other programs have in common.
#pragma once

#include <string>

#include "cudart_doctor/model/finding.hpp"

namespace cudart_doctor {

/// A finding as plain printable lines without LF at the end: headline, EFFECT, SEEN, FIX, NO HELP.
std::string finding_lines(const Finding& finding);

}  // namespace cudart_doctor
