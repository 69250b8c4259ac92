// The command line as values. CLI11 and its exceptions stop in options.cpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cudart_doctor/analyze/allow.hpp"
#include "cudart_doctor/analyze/diff.hpp"
#include "cudart_doctor/analyze/probe_plan.hpp"
#include "cudart_doctor/analyze/scan_plan.hpp"
#include "cudart_doctor/app/ready.hpp"
#include "cudart_doctor/model/exit_style.hpp"
#include "cudart_doctor/model/finding.hpp"

namespace cudart_doctor {

enum class Command : std::uint8_t {
  inspect,
  run,
  snapshot,
  policies,
  explain,
  diff,
  tree,  ///< A process and all below it.
  node,  ///< --all: every process.
  json_schema
};
enum class Format : std::uint8_t { text, json, line, markdown, html, prometheus, junit };
/// Whether findings also go to stderr as workflow commands of GitHub Actions.
enum class Annotate : bool { no, github };
enum class ColorChoice : std::uint8_t { automatic, always, never };

/// What becomes of a command once it was ready and was judged.
enum class AfterReady : std::uint8_t { keep, stop };

/// `run`: what is started, and what is made of it.
struct LaunchRequest {
  std::vector<std::string> command;  ///< As bytes; not empty.
  ReadyCondition ready;
  AfterReady then = AfterReady::keep;
  bool gate = false;              ///< The first finding that counts ends the command.
  bool judge_exit = false;        ///< The exit code tells of findings too.
  bool ptrace = true;             ///< Processes may be held in the moment before their end.
  bool report_to_stderr = false;  ///< No -o was given.
  std::string record;             ///< Folder for the snapshot of what was judged; "": none.
};

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
  std::vector<std::string> profiles;  ///< Files with lists of names to check.
  Format format = Format::text;
  std::string output = "-";
  std::chrono::milliseconds timeout{30'000};
  Severity fail_on = Severity::error;
  ExitStyle exit_style = ExitStyle::standard;
  Annotate annotate = Annotate::no;
  std::vector<Allowance> allow;
  std::vector<std::string> allow_files;
  ColorChoice color = ColorChoice::automatic;
  bool verbose = false;
  std::string explain_selection;  ///< As TextOptions::explain_selection.
  bool redact = false;            ///< Stand-ins for the names of persons and machines.
  std::string log_level = "warn";
  std::string directory;               ///< snapshot: where to.
  std::optional<std::string> subject;  ///< explain: a finding, a code, "-"; nothing: all findings.
  std::vector<std::string> compared;   ///< diff: reports, snapshots' folders, "-".
  std::vector<IgnoredPart> ignored;    ///< diff: what is not to be compared.
  LaunchRequest launch;                ///< run
  std::string listed;                  ///< policies: the one to list; empty: all.

  /// Whether a tree or a whole node is looked at.
  [[nodiscard]] bool looks_at_many() const {
    return command == Command::tree || command == Command::node;
  }
  /// Whether something that can be inspected was named.
  [[nodiscard]] bool names_target() const {
    return pid.has_value() || port.has_value() || !from.empty() || !load.empty();
  }
};

/// What the program is to print at once, and its exit code: help, version, a usage error.
struct Immediate {
  std::string text{};
  bool to_stderr = false;
  int exit_code = 0;
  /// A usage error: what was asked for, as far as the command line could be understood.
  Format format = Format::text;
  ExitStyle exit_style = ExitStyle::standard;
  Annotate annotate = Annotate::no;
};

/// Parses argv. Usage errors come back as Immediate with the exit code that they have in the style
/// asked for.
std::variant<Options, Immediate> parse_options(int argc, const char* const* argv);

}  // namespace cudart_doctor
