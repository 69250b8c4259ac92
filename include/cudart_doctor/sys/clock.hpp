// What time it is.
#pragma once

#include <cstdint>
#include <string>

namespace cudart_doctor {

/// UTC, RFC 3339, seconds: "2026-11-01T03:04:05Z".
std::string utc_now();

/// CLOCK_MONOTONIC in nanoseconds: the same for every process of a machine.
std::int64_t monotonic_now();

}  // namespace cudart_doctor
