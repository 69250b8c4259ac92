// Dates and times of reports.
#include "cudart_doctor/base/utc_time.hpp"

#include <string_view>

#include "support/catch.hpp"

using namespace cudart_doctor;

TEST_CASE("a day of the calendar is read, and nothing else") {
  CHECK(parse_utc_date("1970-01-01")->time_since_epoch().count() == 0);
  CHECK(parse_utc_date("2024-02-29").has_value());
  for (const std::string_view text :
       {"", "2026", "2026-1-01", "2026-01-1", "2026-13-01", "2026-00-10", "2026-02-29",
        "2026-04-31", "2026-11-00", "2026/11/01", "+026-11-01", "2026-11-01 ", " 2026-11-01",
        "2026-11-01T00:00:00Z", "20261101", "2026-1\xff-01"}) {
    INFO(text);
    CHECK_FALSE(parse_utc_date(text).has_value());
  }
}

TEST_CASE("a time in UTC is read to the second") {
  // date -u -d '2026-11-30T15:27:02Z' +%s
  CHECK(parse_utc_time("2026-11-30T15:27:02Z")->time_since_epoch().count() == 1796052422);
  for (const std::string_view text :
       {"", "2026-11-30", "2026-11-30T15:27:02", "2026-11-30T15:27:02+00:00",
        "2026-11-30 15:27:02Z", "2026-11-30T24:00:00Z", "2026-11-30T15:60:00Z",
        "2026-11-30T15:27:61Z", "2026-11-31T15:27:02Z", "2026-11-30T-1:27:02Z"}) {
    INFO(text);
    CHECK_FALSE(parse_utc_time(text).has_value());
  }
}
