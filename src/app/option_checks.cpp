#include "option_checks.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string_view>

#include "cudart_doctor/app/formats.hpp"

namespace cudart_doctor {
namespace {

/// The first of `names` that the command line gives; "" where it gives none.
std::string first_given(const CLI::App& app, std::initializer_list<const char*> names) {
  for (const char* const name : names) {
    if (app.count(name) != 0) return name;
  }
  return {};
}

/// Options that steer a look at a process say nothing where none is looked at.
std::string check_no_look(const CLI::App& app, const Options& options) {
  if (options.command == Command::policies) {
    const std::string given =
        first_given(app, {"--pid", "--port", "--from", "--load", "--python", "--peer", "--devices",
                          "--policy", "--explain-selection", "--redact"});
    if (!given.empty())
      return "policies: " + given + " has no meaning here, no process is looked at";
  }
  if (!options.from.empty()) {
    const std::string given = first_given(app, {"--python", "--deep", "--devices", "--pairs",
                                                "--probe-anyway", "--probe-lookalikes"});
    if (!given.empty()) {
      return given + ": a replay looks at nothing but the snapshot; give it to `snapshot`";
    }
  }
  return {};
}

/// The schema is the same whatever else is given; -o says where it goes.
std::string check_schema(const CLI::App& app) {
  constexpr std::array<std::string_view, 6> kAllowed = {
      "--json-schema", "--json", "--output", "--color", "--timeout", "--log-level"};
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    const bool allowed = std::find(kAllowed.begin(), kAllowed.end(), name) != kAllowed.end();
    if (option->count() != 0 && !allowed) {
      return "--json-schema: " + name + " has no meaning here, the schema is printed as it is";
    }
  }
  return {};
}

/// Options that shape a report say nothing where none, or one of another form, is written.
std::string check_report_shape(const CLI::App& app, const Options& options) {
  if (options.command == Command::snapshot) {
    constexpr std::string_view kAdvice = " has no meaning here; give it to the replay: --from";
    if (app.count("--verbose") != 0) return "snapshot: --verbose" + std::string(kAdvice);
    // A failure is told in JSON.
    if (options.format != Format::text && options.format != Format::json) {
      return "snapshot: this --format" + std::string(kAdvice);
    }
  }
  const bool one_size = options.format == Format::line || options.format == Format::prometheus ||
                        options.format == Format::junit;
  if (app.count("--verbose") != 0 && one_size) {
    return "--verbose: line, prometheus and junit have one size; text, markdown and html grow";
  }
  return {};
}

/// Empty where `app` was given nothing that looks at a process or probes: a comparison does
/// neither.
std::string check_diff(const CLI::App& app, const Options& options) {
  constexpr std::array<std::string_view, 8> kAllowed = {"--format",    "--json",      "--output",
                                                        "--color",     "--verbose",   "--timeout",
                                                        "--log-level", "--exit-style"};
  for (const CLI::Option* option : app.get_options()) {
    const bool allowed =
        std::find(kAllowed.begin(), kAllowed.end(), option->get_name()) != kAllowed.end();
    if (option->count() != 0 && !allowed) {
      return "diff: " + option->get_name() +
             " has no meaning here: it compares what was observed before, and looks at no process";
    }
  }
  if (std::count(options.compared.begin(), options.compared.end(), "-") > 1) {
    return "diff: - can be given once only: there is one stdin";
  }
  if (options.format != Format::text && options.format != Format::json) {
    return "diff: --format is text or json";
  }
  return {};
}

/// What `run` refuses, and what to do instead.
struct Refusal {
  const char* option;
  std::string_view instead;
};

constexpr std::array<Refusal, 13> kRefusedByRun = {{
    {"--all", "run looks at the processes of its command; cudart-doctor --all at all of the node"},
    {"--pid", "run inspects the command that it starts; without run, --pid inspects a process"},
    {"--port",
     "run inspects the command that it starts; --ready-when port:N waits until it listens"},
    {"--from", "run starts a command; what --record kept is replayed by cudart-doctor --from DIR"},
    {"--load", "run inspects what its command loads; cudart-doctor --load LIB loads one by itself"},
    {"--peer", "run looks at all processes of its command; --peer goes with --pid"},
    {"--probe", "run probes nothing; cudart-doctor --pid PID --probe on does, while it runs"},
    {"--probe-anyway", "run probes nothing; it goes with cudart-doctor --pid PID --probe on"},
    {"--probe-lookalikes", "run probes nothing; it goes with cudart-doctor --pid PID --probe on"},
    {"--devices", "run probes nothing; it goes with cudart-doctor --pid PID --probe on"},
    {"--pairs", "run probes nothing; it goes with cudart-doctor --pid PID --probe on"},
    {"--exit-style", "run ends as its command does; --judge-exit ends it with 1 for a finding"},
    {"--json-schema", "cudart-doctor --json-schema prints it, without run"},
}};

/// `run` looks at what it starts, and ends as that does.
std::string check_run(const CLI::App& app, const Options& options) {
  for (const Refusal& each : kRefusedByRun) {
    if (app.count(each.option) != 0) {
      return "run: " + std::string(each.option) + ": " + std::string(each.instead);
    }
  }
  const CLI::App& run = *app.get_subcommand("run");
  if (run.count("--then") != 0 && options.launch.ready.kind == ReadyKind::command_end) {
    return "run: --then needs --ready-when: without it the command is judged at its end";
  }
  if (options.launch.command.empty()) {
    return "run: the command is missing: cudart-doctor run [OPTIONS] -- CMD ARG...";
  }
  if (options.launch.command.front().empty()) return "run: the command's name is empty";
  return check_report_shape(app, options);
}

/// "tree" or "--all", for a message.
std::string_view many_name(const Options& options) {
  return options.command == Command::tree ? "tree" : "--all";
}

constexpr std::array<Refusal, 11> kRefusedByMany = {{
    {"--from", "it looks at living processes; a snapshot is of one process"},
    {"--load", "it looks at living processes; cudart-doctor --load LIB loads one by itself"},
    {"--python", "each process has a Python of its own; it goes with --pid alone"},
    {"--peer", "it goes with --pid alone"},
    {"--probe-anyway", "it never probes; cudart-doctor --pid PID --probe on does"},
    {"--probe-lookalikes", "it never probes; cudart-doctor --pid PID --probe on does"},
    {"--devices", "it never probes; cudart-doctor --pid PID --probe on does"},
    {"--pairs", "it never probes; cudart-doctor --pid PID --probe on does"},
    {"--explain-selection", "it shows no rule's steps; cudart-doctor --pid PID does"},
    {"--github", "it writes no annotations; the report of one process does"},
    {"--json-schema",
     "cudart-doctor --json-schema prints that of one report; the other is docs/tree.schema.json"},
}};

/// Many processes are read only, and shown in few formats.
std::string check_many(const CLI::App& app, const Options& options) {
  const std::string name = std::string(many_name(options)) + ": ";
  if (options.command == Command::tree && app.count("--all") != 0) {
    return "tree: --all: the whole node is cudart-doctor --all, without tree";
  }
  for (const Refusal& each : kRefusedByMany) {
    if (app.count(each.option) != 0) {
      return name + each.option + ": " + std::string(each.instead);
    }
  }
  if (options.command == Command::tree && !options.pid && !options.port) {
    return "tree: name the process at its top: cudart-doctor tree --pid PID, or --port N";
  }
  if (options.probe.mode != ProbeMode::off) {
    return name + "--probe: it never probes; cudart-doctor --pid PID --probe on does";
  }
  const bool has_format = options.format == Format::text || options.format == Format::json ||
                          options.format == Format::line || options.format == Format::prometheus;
  if (!has_format) return name + "--format is text, json, line or prometheus";
  return check_report_shape(app, options);
}

/// What goes together only with some commands; empty where the command line is sound.
std::string check_together(const Options& options) {
  if (options.command == Command::snapshot && !options.from.empty()) {
    return "snapshot: --from is a snapshot already";
  }
  if (options.command == Command::explain && !options.subject && options.names_target()) {
    return "explain: name a finding, a code, or - to say what is looked for in the process";
  }
  const bool reports = options.command == Command::inspect || options.command == Command::run;
  if (!options.explain_selection.empty() && !reports) {
    return "--explain-selection: a part of the report, not of this command";
  }
  if (!options.explain_selection.empty() && options.format != Format::text) {
    return "--explain-selection: the JSON report has every rule's steps (selections[].steps)";
  }
  if (options.command == Command::snapshot && !options.profiles.empty()) {
    return "snapshot: --profile is judged when the snapshot is replayed: --from";
  }
  if (options.command == Command::explain && !options.profiles.empty() && !options.names_target()) {
    return "explain: --profile: name the process or snapshot that it is checked on";
  }
  if (!options.peers.empty() && !options.pid && !options.port) {
    return "--peer: name the process that it shares memory with: --pid or --port";
  }
  const bool is_report =
      options.command != Command::policies && options.command != Command::explain;
  if (!is_report && options.format != Format::text && options.format != Format::json) {
    return "--format: policies and explain are text or json";
  }
  if (!is_report && options.annotate == Annotate::github) {
    return "--github: policies and explain have no findings of their own";
  }
  const bool asks_for_probe =
      options.probe.mode == ProbeMode::on || options.probe.mode == ProbeMode::require;
  if (!options.from.empty() && asks_for_probe) {
    return "--probe: a replay runs no probe; what it saw is in the snapshot";
  }
  return {};
}

/// What stands behind `option` in a command line that could not be parsed; "" for nothing.
std::string_view value_of(std::span<const char* const> arguments, std::string_view option) {
  std::string_view before;
  for (const std::string_view argument : arguments) {
    if (before == option) return argument;
    if (argument.starts_with(option) && argument.substr(option.size()).starts_with('=')) {
      return argument.substr(option.size() + 1);
    }
    before = argument;
  }
  return {};
}

bool has_flag(std::span<const char* const> arguments, std::string_view flag) {
  return std::ranges::any_of(arguments,
                             [flag](std::string_view argument) { return argument == flag; });
}

}  // namespace

std::string find_slip(const CLI::App& app, const Options& options) {
  if (options.command == Command::diff) return check_diff(app, options);
  if (options.command == Command::json_schema) return check_schema(app);
  if (options.looks_at_many()) return check_many(app, options);
  if (options.command == Command::run) {
    const std::string slip = check_run(app, options);
    return slip.empty() ? check_together(options) : slip;
  }
  if (app.count("--json-schema") != 0) {
    return "--json-schema: prints the schema and nothing else: cudart-doctor --json-schema";
  }
  if (app.count("--all") != 0) {
    return "--all: it is no option of this command, it looks at the node";
  }
  std::string slip = check_no_look(app, options);
  if (slip.empty()) slip = check_report_shape(app, options);
  return slip.empty() ? check_together(options) : slip;
}

Immediate usage_error(std::string text, std::span<const char* const> arguments) {
  Immediate out{.text = std::move(text), .to_stderr = true};
  const std::string_view format = value_of(arguments, "--format");
  for (const NamedFormat& each : named_formats()) {
    if (each.name == format) out.format = each.format;
  }
  if (has_flag(arguments, "--json")) out.format = Format::json;
  const std::string_view style = value_of(arguments, "--exit-style");
  const auto* const found = std::ranges::find(kExitStyleNames, style);
  if (found != kExitStyleNames.end()) {
    out.exit_style = static_cast<ExitStyle>(found - kExitStyleNames.begin());
  }
  if (has_flag(arguments, "--github")) out.annotate = Annotate::github;
  out.exit_code = exit_code_of(RunEnd::usage, out.exit_style);
  return out;
}

}  // namespace cudart_doctor
