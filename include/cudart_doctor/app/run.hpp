// From parsed options to an exit code. What the program touches outside itself is in World, so
// that tests can run it in-process.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cudart_doctor/app/options.hpp"
#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/sys/input.hpp"
#include "cudart_doctor/sys/start_state.hpp"

namespace cudart_doctor {

struct World {
  std::string proc_root = "/proc";
  /// Writes a report to where -o says.
  std::function<Result<void>(const std::string& path, std::string_view bytes)> write_output;
  /// Reads stdin: see read_stdin.
  std::function<Result<InputEnd>(const InputLimits& limits, const InputTaker& take)> read_input;
  /// One line of log on stderr.
  std::function<void(std::string_view message)> complain;
  /// One line of log that only a closer look at the log shows (--log-level info).
  std::function<void(std::string_view message)> note;
  /// One line on stderr that is no complaint.
  std::function<void(std::string_view message)> tell;
  /// Columns of the terminal that the report goes to; 0: none, or not known.
  std::size_t terminal_columns = 0;
  /// Lines for stderr as they stand: commands that a CI system reads there.
  std::function<void(std::string_view lines)> annotate;
  /// Whether a report that no -o names is to be coloured by itself (a terminal, NO_COLOR not set,
  /// ...).
  bool colour_by_itself = false;
  /// How the program was started: what `run` starts is to be started like that.
  std::optional<StartState> start_state{};
};

/// No more of a log is looked at: a stream without end ends there.
inline constexpr std::size_t kMaxLog = std::size_t{4} << 30U;

/// Runs the command and returns the exit code.
int run(const Options& options, const World& world);

}  // namespace cudart_doctor
