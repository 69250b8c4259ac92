#include "cudart_doctor/app/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <span>
#include <sstream>
#include <string_view>

#include "cudart_doctor/analyze/policy.hpp"
#include "cudart_doctor/analyze/profile.hpp"
#include "cudart_doctor/app/formats.hpp"
#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/render/render.hpp"
#include "help_format.hpp"
#include "option_checks.hpp"
#include "option_values.hpp"
#include "option_words.hpp"
#include "options_parser.hpp"
#include "options_run.hpp"

namespace cudart_doctor {
namespace {

constexpr const char* kSubcommandFooter =
    R"(The options of cudart-doctor may stand here too where they mean something;
`cudart-doctor --help` lists them, and the exit codes.)";

constexpr const char* kFooter = R"(
Exit codes, by --exit-style              default  nagios  npd  always-zero
  nothing found at or above --fail-on          0       0    0            0
    but a warning or graver                    0       1    0            0
  something found at or above --fail-on        1       2    1            0
  the command line is wrong, or the
    output could not be written                2       3    2            0
  could not decide: no permission, process
    gone, deadline, unread library, a
    required probe that did not run            3       3    2            0
  `snapshot` ends as with nothing found once the folder is written.
  `explain -` could not decide where no symptom was recognised.
  --help and --version exit with 0 in every style.
  `diff`: as with nothing found where nothing differs, else as with something.
  `run` ends as its command did (128 + n for signal n, 127 not found, 126 not
  executable); with 1 where the gate fired, or with --judge-exit something was
  found; `run --help` says more.

Examples:
  cudart-doctor                         what a program started here would get
  cudart-doctor --pid 4121              a running server
  cudart-doctor --port 8000 --json      the one process that listens there
  cudart-doctor --probe require         preflight: kernels, CUDA IPC must work
  cudart-doctor tree --port 8000 --format line --exit-style nagios
  cudart-doctor run -- python serve.py  record a launch, judge it at its end
  cudart-doctor snapshot --pid 4121 --dir snap
  cudart-doctor --from snap             the same report, on any machine
  cudart-doctor --from snap --explain-selection    how the choice is made
  cudart-doctor explain - < server.log  from an error text to its cause
  cudart-doctor diff good.json snap     what changed since it last worked
  cudart-doctor tree --port 8000        a whole server: every rank, the odd one
  cudart-doctor --all --format line     every process of the node

It reads /proc and files; it never stops, traces or writes to the process. A
probe runs in processes of its own, with the rights of the one inspected. `run`
holds processes of the command that it starts for a moment before their end.)";

/// Checks a policy id against the table, so that a slip is a usage error and not a silent default.
std::string check_policy(const std::string& id) {
  if (find_policy(id) != nullptr) return {};
  if (id.starts_with(kProfilePrefix)) {
    return "'" + id + "' is a profile, which follows a rule: name that rule";
  }
  const auto near = near_policies(id);
  return "unknown policy '" + id + "'; " +
         (near.empty() ? "`cudart-doctor policies` lists them" : "near: " + join(near, ", "));
}

/// A profile's id is compared once the files of --profile are read.
std::string check_policy_or_profile(const std::string& id) {
  return id.starts_with(kProfilePrefix) ? std::string() : check_policy(id);
}

std::string check_explained(const std::string& id) {
  return id.empty() || id == kEveryRule ? std::string() : check_policy_or_profile(id);
}

/// CLI11's range check lets NaN pass.
std::string check_seconds(const std::string& text) {
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && seconds >= 0.1 && seconds <= 86400 ? std::string()
                                                     : "'" + text + "' is not 0.1 to 86400 seconds";
}

/// "the areas are verdict, findings, ..."
std::string areas() {
  std::string out = "the areas are ";
  for (int i = 0; i <= int(Area::namespaces); ++i) {
    out.append(i == 0 ? "" : ", ").append(name_of(static_cast<Area>(i)));
  }
  return out;
}

void add_target(CLI::App& app, Options& options) {
  auto* pid = app.add_option("--pid", options.pid, "Inspect this running process")
                  ->check(whole_number("a PID", INT32_MAX))
                  ->type_name("PID");
  auto* port =
      app.add_option("--port", options.port, "Inspect the process that listens on this TCP port")
          ->check(whole_number("a port", 65535))
          ->type_name("N");
  auto* from = app.add_option("--from", options.from, "Replay a folder written by `snapshot`")
                   ->type_name("DIR");
  auto* load = app.add_option("--load", options.load, "Open this library first (no process named)")
                   ->type_name("LIB")
                   ->allow_extra_args(false);
  auto* all = app.add_flag_callback(
      "--all", [&options] { options.command = Command::node; },
      "Inspect every process of the node");
  app.add_option("--python", options.python,
                 "Look at this Python's packages: a path, a virtual environment, a name on PATH")
      ->check(CLI::Validator(check_named, ""))
      ->type_name("EXE");
  auto* peer = app.add_option("--peer", options.peers,
                              "A process that shares GPU memory with the inspected one")
                   ->check(whole_number("a PID", INT32_MAX))
                   ->type_name("PID")
                   ->allow_extra_args(false);
  peer->excludes(from);
  pid->excludes(port)->excludes(from)->excludes(load);
  port->excludes(from)->excludes(load);
  from->excludes(load);
  all->excludes(pid)->excludes(port)->excludes(from)->excludes(load);
}

void add_report(CLI::App& app, Options& options) {
  std::vector<NamedValue> formats;
  for (const NamedFormat& each : named_formats()) formats.push_back({each.name, int(each.format)});
  auto* format = app.add_option("--format", options.format, "Report format (text)")
                     ->transform(one_of(std::move(formats)))
                     ->type_name(format_names("|"));
  app.add_flag_callback(
         "--json", [&options] { options.format = Format::json; }, "Short for --format json")
      ->excludes(format);
  app.add_option("-o,--output", options.output, "Write the report there; - is stdout")
      ->type_name("FILE");
  app.add_option("--profile", options.profiles,
                 "Check a list of names on the runtime that a rule takes")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_option_function<std::string>(
         "--explain-selection",
         [&options](const std::string& rule) {
           options.explain_selection = rule.empty() ? std::string(kHeadlineRule) : rule;
         },
         "Every step of a rule: the headline's, ID, or all")
      ->check(CLI::Validator(check_explained, ""))
      ->check(offers("rule"))
      ->expected(0, 1)
      ->type_name("[ID]");
  app.add_flag_callback(
      "--deep", [&options] { options.depth = ScanDepth::deep; },
      "Search every mapped library for a static runtime");
  app.add_option("--color", options.color, "Colours (auto)")
      ->transform(one_of({{"auto", int(ColorChoice::automatic)},
                          {"always", int(ColorChoice::always)},
                          {"never", int(ColorChoice::never)}}))
      ->type_name("auto|always|never");
  app.add_flag("--redact", options.redact,
               "Stand-ins for names of users and hosts, addresses, GPU UUIDs");
  app.add_flag("-v,--verbose", options.verbose, "Every rule, step and piece of evidence");
}

void add_verdict(CLI::App& app, Options& options) {
  app.add_option("--policy", options.policy, "Selection rule that the headline follows")
      ->check(CLI::Validator(check_policy, ""))
      ->check(offers("policy"))
      ->type_name("ID");
  app.add_option("--fail-on", options.fail_on, "Lowest severity that exits with 1 (error)")
      ->transform(one_of({{"info", int(Severity::info)},
                          {"warning", int(Severity::warning)},
                          {"error", int(Severity::error)},
                          {"critical", int(Severity::critical)}}))
      ->type_name("info|warning|error|critical");
  std::vector<NamedValue> styles;
  for (std::size_t i = 0; i < kExitStyleNames.size(); ++i) {
    styles.push_back({kExitStyleNames[i], int(i)});
  }
  app.add_option("--exit-style", options.exit_style, "What the exit code says: see below (default)")
      ->transform(one_of(std::move(styles)))
      ->type_name("default|nagios|npd|always-zero");
  app.add_option_function<std::vector<std::string>>(
         "--allow",
         [&options](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) {
             auto allowance = parse_allowance(text);
             if (!allowance) throw PrintableError("--allow", allowance.error().message);
             options.allow.push_back(std::move(*allowance));
           }
         },
         "Show this finding, but do not count it; with a last day (UTC)")
      ->check(offers("finding"))
      ->type_name("ID[:until=DATE]")
      ->allow_extra_args(false);
  app.add_option("--allow-file", options.allow_files, "The same, one a line; # begins a comment")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_flag_callback(
      "--github", [&options] { options.annotate = Annotate::github; },
      "Findings on stderr too, as annotations of GitHub Actions");
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
                 "Run kernels and CUDA IPC in two child processes: auto (where "
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
      ->check(CLI::Validator(check_seconds, ""))
      ->type_name("SECONDS");
  const std::vector<std::string> levels = {"trace", "debug", "info", "warn", "error", "off"};
  app.add_option("--log-level", options.log_level, "Messages on stderr (default: warn)")
      ->check(CLI::IsMember(levels).description(""))
      ->check(offers(join(levels, "|")))
      ->type_name("LEVEL");
  app.add_flag_callback(
      "--json-schema", [&options] { options.command = Command::json_schema; },
      "Print the JSON Schema of the JSON report and exit");
}

/// Reports, and what of them is not to be compared.
void add_diff(CLI::App& diff, Options& options) {
  constexpr int kMostReports = 4096;
  diff.add_option("reports", options.compared,
                  "2 to 4096 JSON reports or snapshots' folders; - is stdin")
      ->required()
      ->expected(2, kMostReports)
      ->check(offers("file"))
      ->type_name("A B...");
  diff.add_option_function<std::vector<std::string>>(
          "--ignore",
          [&options](const std::vector<std::string>& words) {
            for (const std::string& word : words) {
              auto part = parse_ignored(word);
              if (part) options.ignored.push_back(std::move(*part));
            }
          },
          "Do not compare this: an area, or one thing of it, such "
          "as order or environment:CUDA_VISIBLE_DEVICES")
      ->check(CLI::Validator(
          [](std::string& word) {
            return parse_ignored(word) ? std::string() : "'" + word + "' names no area; " + areas();
          },
          ""))
      ->check(offers("area"))
      ->allow_extra_args(false)
      ->type_name("AREA[:NAME]");
}

}  // namespace

void build_parser(CLI::App& app, Options& options) {
  app.description("Which CUDA runtime would this process use, who picks it, and does it work?");
  app.name("cudart-doctor");
  app.set_version_flag("--version", "cudart-doctor " CUDART_DOCTOR_VERSION);
  app.formatter(std::make_shared<HelpFormat>());
  app.footer(kSubcommandFooter);  // Subcommands take it over as they are added.
  app.fallthrough();
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  add_target(app, options);
  add_report(app, options);
  add_verdict(app, options);
  add_probe(app, options);
  add_running(app, options);

  add_run(app, options);
  auto* snapshot = app.add_subcommand("snapshot", "Keep what was observed in a folder");
  snapshot->add_option("--dir", options.directory, "New or empty folder")
      ->required()
      ->type_name("DIR");
  auto* policies = app.add_subcommand("policies", "List the selection rules that are known");
  policies->add_option("policy", options.listed, "Only this one")
      ->check(CLI::Validator(check_policy_or_profile, ""))
      ->check(offers("policy"))
      ->type_name("ID");
  auto* explain = app.add_subcommand("explain", "Explain a finding, a code, or a log on stdin");
  explain
      ->add_option("subject", options.subject,
                   "RT04, lookalike-selected, 201 or a CUDA name; "
                   "- reads a log from stdin (none: all findings)")
      ->check(offers("subject"))
      ->type_name("ID|CODE|-");
  app.add_subcommand("tree", "A process and all below it; which rank is odd");
  auto* diff = app.add_subcommand("diff", "What changed between reports, which one is odd");
  add_diff(*diff, options);
  app.require_subcommand(0, 1);
  app.footer(kFooter);
}

namespace {

/// Behind "--" stands the command of `run`, which is no business of the parser's.
struct CommandLine {
  std::vector<const char*> own;
  std::vector<std::string> command{};
  bool names_run = false;  ///< `own` has the word "run".
};

CommandLine cut(std::span<const char* const> arguments) {
  const auto is = [](std::string_view word) {
    return [word](const char* text) { return word == text; };
  };
  CommandLine line;
  const auto end = std::ranges::find_if(arguments, is("--"));
  line.own.assign(arguments.begin(), end);
  line.names_run = std::ranges::any_of(line.own, is("run"));
  if (end != arguments.end()) line.command.assign(end + 1, arguments.end());
  return line;
}

std::variant<Options, Immediate> parse_arguments(const CommandLine& line) {
  const int argc = static_cast<int>(line.own.size());
  const char* const* const argv = line.own.data();
  Options options;
  CLI::App app;
  build_parser(app, options);

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    std::ostringstream ignored;
    const int code = app.exit(error, out, ignored);
    if (code == 0) return Immediate{.text = out.str()};
    return usage_error(explain_slip(error, app, line.command) + "\n", {argv, argv + argc});
  }
  const auto given = [&app](const char* name) { return app.got_subcommand(name); };
  if (given("run")) {
    options.command = Command::run;
    options.launch.command = line.command;
    options.launch.report_to_stderr = app.count("--output") == 0;
    options.probe.mode = ProbeMode::off;
  }
  if (given("snapshot")) options.command = Command::snapshot;
  if (given("policies")) options.command = Command::policies;
  if (given("explain")) {
    options.command = Command::explain;
    // A question about a text is no reason to use a card unasked.
    if (options.probe.mode == ProbeMode::automatic) options.probe.mode = ProbeMode::off;
  }
  if (given("tree")) options.command = Command::tree;
  // Many processes, and cards that they use: never.
  const bool may_probe = options.probe.mode == ProbeMode::automatic;
  if (options.looks_at_many() && may_probe) options.probe.mode = ProbeMode::off;
  if (given("diff")) options.command = Command::diff;
  const std::string slip = find_slip(app, options);
  if (!slip.empty()) return usage_error(slip + "\n", {argv, argv + argc});
  return options;
}

}  // namespace

std::variant<Options, Immediate> parse_options(int argc, const char* const* argv) {
  const std::span<const char* const> arguments(argv, static_cast<std::size_t>(argc));
  const CommandLine line = cut(arguments);
  if (line.names_run) {
    auto parsed = parse_arguments(line);
    // "run" may be the value of an option; then "--" is none of ours.
    const auto* const options = std::get_if<Options>(&parsed);
    if (options == nullptr || options->command == Command::run) return parsed;
  }
  return parse_arguments({.own = {arguments.begin(), arguments.end()}});
}

}  // namespace cudart_doctor
