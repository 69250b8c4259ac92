// How a run ends, and which exit code says so to whom: monitors do not agree on what 1, 2 and 3
// mean. The one table of exit codes; plain data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cudart_doctor {

enum class RunEnd : std::uint8_t {
  ok,         ///< Nothing that counts, or infos only.
  warned,     ///< The worst that counts is below --fail-on, but a warning or graver.
  findings,   ///< Something that counts is at or above --fail-on.
  usage,      ///< The command line is wrong, or the output could not be written.
  undecided,  ///< No permission, process gone, deadline, something unread.
};

enum class ExitStyle : std::uint8_t {
  standard,  ///< "default"
  nagios,
  npd,  ///< Node Problem Detector: 2 and above mean unknown.
  always_zero,
};
inline constexpr std::array<std::string_view, 4> kExitStyleNames = {"default", "nagios", "npd",
                                                                    "always-zero"};

constexpr std::string_view name_of(ExitStyle style) {
  return kExitStyleNames[static_cast<std::size_t>(style)];
}

constexpr int exit_code_of(RunEnd end, ExitStyle style) {
  constexpr std::array<std::array<std::uint8_t, 5>, 4> kCodes{{
      {0, 0, 1, 2, 3},  // default
      {0, 1, 2, 3, 3},  // nagios: OK, WARNING, CRITICAL, UNKNOWN, UNKNOWN
      {0, 0, 1, 2, 2},  // npd: False, False, True, Unknown, Unknown
      {0, 0, 0, 0, 0},  // always-zero
  }};
  return kCodes[static_cast<std::size_t>(style)][static_cast<std::size_t>(end)];
}

}  // namespace cudart_doctor
