#include "cudart_doctor/app/ready.hpp"

#include <array>
#include <cmath>
#include <cstdlib>
#include <string>

#include "cudart_doctor/app/line_pattern.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

constexpr double kLongestSeconds = 86'400;

struct NamedKind {
  std::string_view name;
  ReadyKind kind;
};
constexpr std::array<NamedKind, 5> kKinds = {{{"mapped", ReadyKind::mapped},
                                              {"port", ReadyKind::port},
                                              {"output", ReadyKind::output},
                                              {"after", ReadyKind::after},
                                              {"stable", ReadyKind::stable}}};

Result<std::chrono::milliseconds> parse_seconds(std::string_view value) {
  const std::string text(value);
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  const bool whole = !text.empty() && end == text.c_str() + text.size();
  if (!whole || !std::isfinite(seconds) || seconds < 0 || seconds > kLongestSeconds) {
    return fail(ErrorKind::usage, "'" + escape_foreign(text) + "' is no number of seconds up to " +
                                      std::to_string(int(kLongestSeconds)));
  }
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

Result<void> take_value(ReadyCondition& condition, std::string_view value) {
  constexpr std::uint64_t kLastPort = 65535;
  switch (condition.kind) {
    case ReadyKind::after:
    case ReadyKind::stable: {
      const auto time = parse_seconds(value);
      if (!time) return tl::unexpected(time.error());
      condition.time = *time;
      return {};
    }
    case ReadyKind::port: {
      const auto port = parse_unsigned(value, 10);
      if (!port || *port == 0 || *port > kLastPort) {
        return fail(ErrorKind::usage,
                    "'" + escape_foreign(value) + "' is no TCP port from 1 to 65535");
      }
      condition.port = static_cast<std::uint16_t>(*port);
      return {};
    }
    case ReadyKind::output: {
      const auto pattern = LinePattern::compile(std::string(value));
      if (!pattern) return tl::unexpected(pattern.error());
      break;
    }
    case ReadyKind::mapped:
    case ReadyKind::command_end: break;
  }
  // Every path and every line holds it.
  if (value.empty()) return fail(ErrorKind::usage, "the text behind the colon is missing");
  condition.text = value;
  return {};
}

}  // namespace

Result<ReadyCondition> parse_ready(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  for (const NamedKind& each : kKinds) {
    if (each.name != name || colon == std::string_view::npos) continue;
    ReadyCondition condition{.kind = each.kind, .given = std::string(text), .text = {}};
    const auto taken = take_value(condition, text.substr(colon + 1));
    if (!taken) return tl::unexpected(taken.error());
    return condition;
  }
  return fail(ErrorKind::usage, "'" + escape_foreign(text) +
                                    "' is none of mapped:TEXT, port:N, output:REGEX, "
                                    "after:SECONDS, stable:SECONDS");
}

std::vector<std::string> ready_beginnings() {
  std::vector<std::string> out;
  for (const NamedKind& each : kKinds) out.push_back(std::string(each.name) + ":");
  return out;
}

void ReadyWatch::loaded(std::string_view path, Time now) {
  last_load_ = now;
  const bool held = path.find(condition_.text) != std::string_view::npos;
  if (condition_.kind == ReadyKind::mapped && held) seen_ = true;
}

bool ReadyWatch::met(Time now) const {
  const auto time = due();
  return seen_ || (time && now >= *time);
}

std::optional<ReadyWatch::Time> ReadyWatch::due() const {
  if (condition_.kind == ReadyKind::after) return start_ + condition_.time;
  if (condition_.kind == ReadyKind::stable && last_load_) return *last_load_ + condition_.time;
  return std::nullopt;
}

}  // namespace cudart_doctor
