// Would another order of addresses give another answer? The scan is evaluated again with each
// object's lines first: addresses are chance, so a difference is a coming failure.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "cudart_doctor/analyze/scan_rules.hpp"
#include "cudart_doctor/model/selection.hpp"
#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

struct ScanStability {
  Stability stability = Stability::stable;
  std::vector<std::string> other_answers;  ///< Chosen texts or outcomes, each once.
  std::size_t not_tried = 0;               ///< Objects beyond kMaxReordered.
};

/// Objects whose lines are moved to the front; more carry the word only by intent.
inline constexpr std::size_t kMaxReordered = 64;

/// Two answers are the same when their outcome and object (device and inode) are the same.
ScanStability judge_stability(const MapsTable& maps, std::span<const PythonLine> lines,
                              ScanRule rule);

/// "none", "unexpected file name", ...: an outcome in a few words.
std::string_view outcome_words(Outcome outcome);

}  // namespace cudart_doctor
