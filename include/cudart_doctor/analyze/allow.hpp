// Findings that the user knows of and accepts: they are shown and do not count.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/model/finding.hpp"
#include "cudart_doctor/model/report.hpp"

namespace cudart_doctor {

/// One finding that is allowed.
struct Allowance {
  std::string id;      ///< "RT06"
  std::string until;   ///< "2026-11-01": the last day, UTC; "" for ever.
  std::string origin;  ///< Who says so: "--allow", "allow.txt line 3:". Printable.
};

/// "ID" or "ID:until=DATE"; the id or the slug of a finding, case does not count. Errors: usage,
/// naming near ids or the form of a date.
Result<Allowance> parse_allowance(std::string_view text);

/// One allowance a line; blank lines and what follows a # are nothing. `name` (bytes) stands in
/// errors and origins. Errors: usage with the number of the line; limit above 4096 allowances.
Result<std::vector<Allowance>> parse_allow_file(std::string_view text, std::string_view name);

struct AllowedFindings {
  std::vector<Finding> findings;  ///< Those that count in their order, then the allowed ones.
  Allowances allowances;
};

/// `findings` with those marked that are allowed on the day `taken_at` begins with (RFC 3339). An
/// allowance with an end is not in force where that is no date.
AllowedFindings apply_allowances(std::vector<Finding> findings,
                                 const std::vector<Allowance>& allowances,
                                 std::string_view taken_at);

}  // namespace cudart_doctor
