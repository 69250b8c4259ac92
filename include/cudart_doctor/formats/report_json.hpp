// A report's JSON document as values to compare. The document may come from anywhere: size, depth
// and number of values are limited, every type is checked, nothing throws.
#pragma once

#include <cstddef>
#include <string_view>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/model/comparison.hpp"

namespace cudart_doctor {

/// No longer document is looked at; a large server's report has about 1 MiB.
inline constexpr std::size_t kMaxReportBytes = std::size_t{16} << 20U;

/// What counts of a report (docs/report.schema.json). `name` is not filled. Keys that are not
/// known are passed over. Errors, without the document's name: malformed (no JSON, a key missing
/// or of another type), limit, unsupported (another schema version, no report at all).
Result<ReportDigest> parse_report(std::string_view text);

}  // namespace cudart_doctor
