#include "cudart_doctor/base/utc_time.hpp"

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

/// Exactly `digits` digits at `at`; nothing else is a number here, no sign and no blank.
std::optional<unsigned> number_at(std::string_view text, std::size_t at, std::size_t digits) {
  if (at > text.size() || digits > text.size() - at) return std::nullopt;
  const auto value = parse_unsigned(text.substr(at, digits), 10);
  return value ? std::optional<unsigned>(static_cast<unsigned>(*value)) : std::nullopt;
}

}  // namespace

std::optional<std::chrono::sys_days> parse_utc_date(std::string_view text) {
  constexpr std::size_t kSize = 10;
  if (text.size() != kSize || text[4] != '-' || text[7] != '-') return std::nullopt;
  const auto year = number_at(text, 0, 4);
  const auto month = number_at(text, 5, 2);
  const auto day = number_at(text, 8, 2);
  if (!year || !month || !day) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                         std::chrono::month(*month), std::chrono::day(*day)};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date);
}

std::optional<std::chrono::sys_seconds> parse_utc_time(std::string_view text) {
  constexpr std::size_t kSize = 20;
  if (text.size() != kSize || text[10] != 'T' || text[13] != ':' || text[16] != ':' ||
      text[19] != 'Z') {
    return std::nullopt;
  }
  const auto date = parse_utc_date(text.substr(0, 10));
  const auto hour = number_at(text, 11, 2);
  const auto minute = number_at(text, 14, 2);
  const auto second = number_at(text, 17, 2);
  // A leap second is written as 60.
  if (!date || !hour || !minute || !second || *hour > 23 || *minute > 59 || *second > 60) {
    return std::nullopt;
  }
  return std::chrono::sys_seconds(*date) + std::chrono::hours(*hour) +
         std::chrono::minutes(*minute) + std::chrono::seconds(*second);
}

}  // namespace cudart_doctor
