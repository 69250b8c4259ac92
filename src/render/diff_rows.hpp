// The rows of `diff`: what changed, by area, one row for each subject.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/model/comparison.hpp"
#include "render/text_writer.hpp"

namespace cudart_doctor {

/// "finding": what a trait of this area is called.
std::string_view noun_of(Area area);

/// The changes below the headings of their areas, without the verdict.
void write_changes(TextWriter& writer, const std::vector<Change>& changes);

/// "3 findings, 1 runtime"
std::string summary_of(const std::vector<Change>& changes);

}  // namespace cudart_doctor
