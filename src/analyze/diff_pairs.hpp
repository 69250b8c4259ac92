// Finding the counterpart of each trait in another report.
#pragma once

#include <vector>

#include "cudart_doctor/model/comparison.hpp"

namespace cudart_doctor {

/// What changes from the traits of one report to those of another, of one area. Empty exactly
/// where both hold the same identities with the same attributes. Removed ones come first, then
/// changed ones in the first's order, then added ones.
std::vector<Change> paired_changes(const std::vector<const Trait*>& first,
                                   const std::vector<const Trait*>& second);

}  // namespace cudart_doctor
