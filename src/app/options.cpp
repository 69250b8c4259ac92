#include "cudart_doctor/app/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <span>
#include <sstream>
#include <string_view>

#include "cudart_doctor/analyze/policy.hpp"
#include "cudart_doctor/app/exit_code.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

constexpr const char* kFooter = R"(
Exit codes:
  0  nothing found at or above --fail-on
  1  something found at or above --fail-on
  2  the command line is wrong, or the output could not be written
  3  could not decide: no permission, process gone, deadline, unread library,
     a required probe that did not run
  `snapshot` exits with 0 once the folder is written, whatever was found.
  `explain -`: 0 a symptom was recognised, 3 none was.

Examples:
  cudart-doctor                         what a program started here would get
  cudart-doctor --pid 4121              a running server
  cudart-doctor --port 8000 --json      the process that listens on port 8000
  cudart-doctor --probe require         preflight: kernels and CUDA IPC must work
  cudart-doctor snapshot --pid 4121 --dir snap
  cudart-doctor --from snap             the same report, on any machine
  cudart-doctor explain - < server.log  from an error text to its cause

It reads /proc and files; it never stops, traces or writes to the process. A
probe runs in processes of its own, with the rights of the one inspected.)";

/// Checks a policy id against the table, so that a slip is a usage error and not a silent default.
std::string check_policy(const std::string& id) {
  return find_policy(id) != nullptr
             ? std::string()
             : "unknown policy '" + id + "'; `cudart-doctor policies` lists them";
}

struct NamedValue {
  std::string_view name;
  int value = 0;
};

/// Turns a name into its enumerator; CLI11's own check would not say which names there are.
CLI::Validator one_of(std::vector<NamedValue> values) {
  return {[values = std::move(values)](std::string& text) -> std::string {
            std::string names;
            for (const NamedValue& each : values) {
              if (each.name == text) {
                text = std::to_string(each.value);
                return {};
              }
              names.append(names.empty() ? "" : ", ").append(each.name);
            }
            return "'" + text + "' is none of " + names;
          },
          ""};
}

/// CLI11's range check lets NaN pass.
std::string check_finite(const std::string& text) {
  return std::isfinite(std::strtod(text.c_str(), nullptr)) ? std::string()
                                                           : "'" + text + "' is no number";
}

void add_target(CLI::App& app, Options& options) {
  auto* pid = app.add_option("--pid", options.pid, "Inspect this running process")
                  ->check(CLI::Range(std::int64_t{1}, std::int64_t{INT32_MAX}))
                  ->type_name("PID");
  auto* port =
      app.add_option("--port", options.port, "Inspect the process that listens on this TCP port")
          ->check(CLI::Range(1, 65535))
          ->type_name("N");
  auto* from = app.add_option("--from", options.from, "Replay a folder written by `snapshot`")
                   ->type_name("DIR");
  auto* load = app.add_option("--load", options.load, "Open this library first (no process named)")
                   ->type_name("LIB")
                   ->allow_extra_args(false);
  app.add_option("--python", options.python, "Look at this Python's packages")->type_name("EXE");
  auto* peer = app.add_option("--peer", options.peers,
                              "A process that shares GPU memory with the inspected one")
                   ->check(CLI::Range(std::int64_t{1}, std::int64_t{INT32_MAX}))
                   ->type_name("PID")
                   ->allow_extra_args(false);
  peer->excludes(from);
  pid->excludes(port)->excludes(from)->excludes(load);
  port->excludes(from)->excludes(load);
  from->excludes(load);
}

void add_report(CLI::App& app, Options& options) {
  auto* format = app.add_option("--format", options.format, "Report format (text)")
                     ->transform(one_of({{"text", int(Format::text)},
                                         {"json", int(Format::json)},
                                         {"markdown", int(Format::markdown)},
                                         {"html", int(Format::html)}}))
                     ->type_name("text|json|markdown|html");
  app.add_flag_callback(
         "--json", [&options] { options.format = Format::json; }, "Short for --format json")
      ->excludes(format);
  app.add_option("-o,--output", options.output, "Write the report there; - is stdout")
      ->type_name("FILE");
  app.add_option("--policy", options.policy, "Selection rule that the headline follows")
      ->check(CLI::Validator(check_policy, ""))
      ->type_name("ID");
  app.add_option("--fail-on", options.fail_on, "Lowest severity that exits with 1 (error)")
      ->transform(one_of({{"info", int(Severity::info)},
                          {"warning", int(Severity::warning)},
                          {"error", int(Severity::error)},
                          {"critical", int(Severity::critical)}}))
      ->type_name("info|warning|error|critical");
  app.add_flag_callback(
      "--deep", [&options] { options.depth = ScanDepth::deep; },
      "Search every mapped library for a static runtime");
  app.add_option("--color", options.color, "Colours: auto, always or never")
      ->transform(one_of({{"auto", int(ColorChoice::automatic)},
                          {"always", int(ColorChoice::always)},
                          {"never", int(ColorChoice::never)}}))
      ->type_name("auto|always|never");
  app.add_flag("--redact", options.redact,
               "Stand-ins for names of users and hosts, addresses, GPU UUIDs");
  app.add_flag("-v,--verbose", options.verbose, "Every rule, step and piece of evidence");
}

/// "all" is the empty list; else ordinals, each once, in the order given.
std::string parse_devices(const std::string& text, std::vector<int>& out) {
  out.clear();
  if (text == "all") return {};
  constexpr std::uint64_t kMostDevices = 64;
  for (const std::string_view part : split(text, ',')) {
    const auto number = parse_unsigned(part, 10);
    if (!number || *number >= kMostDevices) {
      return "'" + text + "' is neither all nor a list of device numbers below 64, such as 0,2";
    }
    const int device = static_cast<int>(*number);
    if (std::find(out.begin(), out.end(), device) != out.end()) {
      return "device " + std::to_string(device) + " is named twice";
    }
    out.push_back(device);
  }
  return {};
}

void add_probe(CLI::App& app, Options& options) {
  app.add_option("--probe", options.probe.mode,
                 "Run kernels and CUDA IPC in two child processes: auto (where\n"
                 "nobody uses the GPU), on, require (not run: exit 3), off")
      ->transform(one_of({{"auto", int(ProbeMode::automatic)},
                          {"on", int(ProbeMode::on)},
                          {"require", int(ProbeMode::require)},
                          {"off", int(ProbeMode::off)}}))
      ->type_name("auto|on|require|off");
  app.add_flag("--probe-anyway", options.probe.anyway,
               "Probe beside MPS, in exclusive mode, on a nearly full GPU");
  app.add_flag("--probe-lookalikes", options.probe.look_alikes,
               "Run look-alikes too, not only ask them for symbols");
  app.add_option("--devices", "GPUs to probe, by number among the visible ones (all)")
      ->type_name("all|N,...")
      ->check(CLI::Validator(
          [&options](std::string& text) { return parse_devices(text, options.probe.devices); },
          ""));
  app.add_option_function<int>(
         "--pairs", [&options](const int& all) { options.probe.all_pairs = all != 0; },
         "Exchange between each two GPUs too: all or none (all)")
      ->transform(one_of({{"all", 1}, {"none", 0}}))
      ->type_name("all|none");
}

void add_running(CLI::App& app, Options& options) {
  app.add_option_function<double>(
         "--timeout",
         [&options](const double& seconds) {
           options.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
         },
         "Give up after so many seconds (30)")
      ->check(CLI::Validator(check_finite, ""))
      ->check(CLI::Range(0.1, 86400.0))
      ->type_name("SECONDS");
  app.add_option("--log-level", options.log_level, "Messages on stderr (default: warn)")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}).description(""))
      ->type_name("LEVEL");
  app.add_flag_callback(
      "--json-schema", [&options] { options.command = Command::json_schema; },
      "Print the JSON Schema of the JSON report and exit");
}

/// What goes together only with some commands; empty where the command line is sound.
std::string check_together(const Options& options) {
  if (options.command == Command::snapshot && !options.from.empty()) {
    return "snapshot: --from is a snapshot already";
  }
  if (options.command == Command::explain && !options.subject && options.names_target()) {
    return "explain: name a finding, a code, or - to say what is looked for in the process";
  }
  if (!options.peers.empty() && !options.pid && !options.port) {
    return "--peer: name the process that it shares memory with: --pid or --port";
  }
  const bool asks_for_probe =
      options.probe.mode == ProbeMode::on || options.probe.mode == ProbeMode::require;
  if (!options.from.empty() && asks_for_probe) {
    return "--probe: a replay runs no probe; what it saw is in the snapshot";
  }
  return {};
}

/// The format that a command line asks for which could not be parsed.
Format asked_format(std::span<const char* const> arguments) {
  std::string_view before;
  for (const std::string_view argument : arguments) {
    if (argument == "--json" || argument == "--format=json") return Format::json;
    if (before == "--format" && argument == "json") return Format::json;
    before = argument;
  }
  return Format::text;
}

}  // namespace

std::variant<Options, Immediate> parse_options(int argc, const char* const* argv) {
  Options options;
  CLI::App app{"Which CUDA runtime would this process use, who picks it, and does it work?",
               "cudart-doctor"};
  app.set_version_flag("--version", "cudart-doctor " CUDART_DOCTOR_VERSION);
  app.footer(kFooter);
  app.fallthrough();
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  add_target(app, options);
  add_report(app, options);
  add_probe(app, options);
  add_running(app, options);

  auto* snapshot = app.add_subcommand("snapshot", "Keep what was observed in a folder");
  snapshot->add_option("--dir", options.directory, "New or empty folder")
      ->required()
      ->type_name("DIR");
  auto* policies = app.add_subcommand("policies", "List the selection rules that are known");
  auto* explain = app.add_subcommand("explain", "Explain a finding, a code, or a log on stdin");
  explain
      ->add_option("subject", options.subject,
                   "RT04, lookalike-selected, 201 or a CUDA name;\n"
                   "- reads a log from stdin (none: all findings)")
      ->type_name("ID|CODE|-");
  app.require_subcommand(0, 1);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    std::ostringstream ignored;
    const int code = app.exit(error, out, ignored);
    if (code == 0) return Immediate{out.str(), false, kExitOk};
    return Immediate{escape_foreign(error.what()) + "\nRun with --help for more information.\n",
                     true, kExitUsage, asked_format({argv, argv + argc})};
  }
  if (snapshot->parsed()) options.command = Command::snapshot;
  if (policies->parsed()) options.command = Command::policies;
  if (explain->parsed()) {
    options.command = Command::explain;
    // A question about a text is no reason to use a card unasked.
    if (options.probe.mode == ProbeMode::automatic) options.probe.mode = ProbeMode::off;
  }
  const std::string slip = check_together(options);
  if (!slip.empty()) return Immediate{slip + "\n", true, kExitUsage, options.format};
  return options;
}

}  // namespace cudart_doctor
