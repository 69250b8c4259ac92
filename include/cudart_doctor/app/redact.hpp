// --redact: a report without the names of persons and machines. The snapshot is gone through, then
// everything is concluded from it anew, so that no text of the report can have been missed.
#pragma once

#include <string>
#include <string_view>

#include "cudart_doctor/analyze/judge.hpp"
#include "cudart_doctor/collect/anonymize.hpp"
#include "cudart_doctor/model/report.hpp"

namespace cudart_doctor {

/// `report` (identified, not judged) with the stand-ins of `names`, which has learned its snapshot;
/// identified, not judged. What the probe says of a runtime stays with that runtime.
Report redacted_report(const Report& report, Anonymizer& names, const JudgeOptions& options);

/// A message without the names that show in it, and without that of the doctor's own user.
std::string redacted_message(std::string_view message);

}  // namespace cudart_doctor
