// What the lines of one process and of many have in common.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "cudart_doctor/model/exit_style.hpp"
#include "cudart_doctor/model/finding.hpp"

namespace cudart_doctor {

// Node-problem-detector cuts at bytes (its examples: 80), wherever that is in a character.
inline constexpr std::size_t kMaxLineBytes = 80;

struct Line {
  std::string word;      ///< "CRITICAL"
  std::string code;      ///< "RT04"; "" for none.
  std::string sentence;  ///< Printable, without an end.
  std::string who;       ///< " (pid 4121)"
};

/// Without LF, cut to kMaxLineBytes.
std::string put_together(const Line& line, ExitStyle style);

/// `text` (printable) in `room` bytes, cut between words where that leaves at least half.
std::string shortened(std::string_view text, std::size_t room);

/// What Nagios calls it.
std::string_view nagios_word(RunEnd end);

std::string without_stop(std::string sentence);

/// "critical=1;;;0 error=0;;;0 ... allowed=0;;;0": counts to draw; thresholds are --fail-on's
/// business.
std::string performance_data(const std::function<std::size_t(Severity)>& count,
                             std::size_t allowed);

}  // namespace cudart_doctor
