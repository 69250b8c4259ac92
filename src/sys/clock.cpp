#include "cudart_doctor/sys/clock.hpp"

#include <ctime>

namespace cudart_doctor {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  ::gmtime_r(&now, &parts);
  std::string text(32, '\0');
  text.resize(std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts));
  return text;
}

std::int64_t monotonic_now() {
  constexpr std::int64_t kNanoseconds = 1'000'000'000;
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * kNanoseconds + now.tv_nsec;
}

}  // namespace cudart_doctor
