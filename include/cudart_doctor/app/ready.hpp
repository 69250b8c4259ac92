// When a command that `run` started is ready to be judged. Pure: the caller tells what happened,
// and when.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/base/result.hpp"

namespace cudart_doctor {

enum class ReadyKind : std::uint8_t {
  command_end,  ///< No condition: at the end.
  mapped,       ///< A process has loaded a file whose path holds `text`.
  port,         ///< A process listens on TCP `port`.
  output,       ///< A line of output matches the pattern `text`.
  after,        ///< `time` has passed.
  stable,       ///< Nothing of the CUDA family was loaded for `time`, behind the first such load.
};

struct ReadyCondition {
  ReadyKind kind = ReadyKind::command_end;
  std::string given;  ///< As on the command line; "" for the end of the command.
  std::string text;
  std::uint16_t port = 0;
  std::chrono::milliseconds time{0};
};

/// "mapped:TEXT", "port:N", "output:REGEX", "after:SECONDS" or "stable:SECONDS" (up to a day).
/// Errors: usage, for the line behind "--ready-when: "; foreign bytes are escaped in it.
Result<ReadyCondition> parse_ready(std::string_view text);

/// What a condition may begin with: "mapped:", "port:", ...
std::vector<std::string> ready_beginnings();

class ReadyWatch {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// The command starts at `start`.
  ReadyWatch(ReadyCondition condition, Time start)
      : condition_(std::move(condition)), start_(start) {}

  [[nodiscard]] const ReadyCondition& condition() const { return condition_; }
  /// A process loaded an object of the CUDA family, at `path` or not known where.
  void loaded(std::string_view path, Time now);
  /// A process maps a file whose path holds `text`, listens on `port`, or a line matched.
  void seen() { seen_ = true; }
  [[nodiscard]] bool met(Time now) const;
  /// When met() is worth asking again without anything having happened.
  [[nodiscard]] std::optional<Time> due() const;

 private:
  ReadyCondition condition_;
  Time start_;
  std::optional<Time> last_load_;
  bool seen_ = false;
};

}  // namespace cudart_doctor
