// Dates and times as the reports write them. Pure: nothing here knows what time it is.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace cudart_doctor {

/// "2026-11-01"; nothing where it is not of this form or no day of the calendar.
std::optional<std::chrono::sys_days> parse_utc_date(std::string_view text);

/// "2026-11-01T03:04:05Z"; nothing where it is not of this form.
std::optional<std::chrono::sys_seconds> parse_utc_time(std::string_view text);

}  // namespace cudart_doctor
