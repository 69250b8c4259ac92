// The command line as values. CLI11 and its exceptions stop in options.cpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cudart_doctor/analyze/probe_plan.hpp"
#include "cudart_doctor/analyze/scan_plan.hpp"
#include "cudart_doctor/model/finding.hpp"

namespace cudart_doctor {

enum class Command : std::uint8_t { inspect, snapshot, policies, explain, json_schema };
enum class Format : std::uint8_t { text, json, markdown, html };
enum class ColorChoice : std::uint8_t { automatic, always, never };

struct Options {
  Command command = Command::inspect;
  std::optional<std::int64_t> pid;
  std::optional<std::uint16_t> port;
  std::string from;                 ///< Bundle folder; empty: a live process.
  std::vector<std::string> load;    ///< Self only: libraries to open first, in order.
  std::string python;               ///< Interpreter whose environment is looked at; empty: found.
  std::vector<std::int64_t> peers;  ///< Processes that the target shares device memory with.
  ProbeRequest probe;
  ScanDepth depth = ScanDepth::usual;
  std::string policy;
  Format format = Format::text;
  std::string output = "-";
  std::chrono::milliseconds timeout{30'000};
  Severity fail_on = Severity::error;
  ColorChoice color = ColorChoice::automatic;
  bool verbose = false;
  bool redact = false;  ///< Stand-ins for the names of persons and machines.
  std::string log_level = "warn";
  std::string directory;               ///< snapshot: where to.
  std::optional<std::string> subject;  ///< explain: a finding, a code, "-"; nothing: all findings.

  /// Whether something that can be inspected was named.
  [[nodiscard]] bool names_target() const {
    return pid.has_value() || port.has_value() || !from.empty() || !load.empty();
  }
};

/// What the program is to print at once, and its exit code: help, version, a usage error.
struct Immediate {
  std::string text;
  bool to_stderr = false;
  int exit_code = 0;
  Format format = Format::text;  ///< A usage error: what was asked for on stdout.
};

/// Parses argv. Usage errors come back as Immediate with exit code 2.
std::variant<Options, Immediate> parse_options(int argc, const char* const* argv);

}  // namespace cudart_doctor
