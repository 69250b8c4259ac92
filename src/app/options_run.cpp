#include "options_run.hpp"

#include <string>
#include <utility>

#include "option_values.hpp"

namespace cudart_doctor {
namespace {

constexpr const char* kRunFooter = R"(
The report goes to stderr, or where -o says (-o -: stdout).

Options of cudart-doctor for report and verdict, before the -- too:
  -o, --output FILE          Write the report there; - is stdout
  --format FORMAT, --json    text, json, line, markdown, html, prometheus, junit
  -v, --verbose              Every rule, step and piece of evidence
  --color WHEN               auto, always, never
  --redact                   Stand-ins for names, addresses, GPU UUIDs
  --github                   Annotations of GitHub Actions on stderr too
  --explain-selection [ID]   Every step of a rule: the headline's, ID, or all
  --fail-on SEVERITY         info, warning, error (default), critical
  --allow ID[:until=DATE]    Show this finding, but do not count it
  --allow-file FILE          The same, one a line
  --policy ID                Selection rule that the headline follows
  --profile FILE             Check names on the runtime that a rule takes
  --python EXE               Look at this Python's packages
  --deep                     Search every mapped library for a static runtime
  --timeout SECONDS          Give up one look after so long (30)
  --log-level LEVEL          Messages on stderr (warn)

Exit code                                                   `run` ends with
  the command ended by itself                               the command's code
  ... by signal n                                           128 + n
  the command was not found / could not be executed         127 / 126
  --gate ended it                                           1
  --judge-exit: something found at or above --fail-on       1
  --judge-exit: could not decide, or the report could not
    be written, and the command ended with 0                3, 2
  --then stop or --judge-exit, never ready, ended with 0     3
  --then stop ended it: nothing / something found           0 / 1
  ... could not decide / report not written                 3 / 2
  the command line is wrong (nothing was started)           2

Examples:
  cudart-doctor run -- python serve.py
  cudart-doctor run --gate -- vllm serve MODEL
  cudart-doctor run --ready-when port:8000 -o report.txt -- vllm serve MODEL
  cudart-doctor run --ready-when stable:20 --then stop -- vllm serve MODEL)";

}  // namespace

void add_run(CLI::App& app, Options& options) {
  CLI::App& run = *app.add_subcommand("run", "Start a command, record its loads, judge it");
  run.footer(kRunFooter);
  LaunchRequest& launch = options.launch;
  run.add_option_function<std::string>(
         "--ready-when",
         [&launch](const std::string& text) {
           auto ready = parse_ready(text);
           if (!ready) throw PrintableError("--ready-when", ready.error().message);
           launch.ready = std::move(*ready);
         },
         "Judge then, not at the end: mapped:TEXT (loaded, with TEXT in its path), port:N, "
         "output:REGEX (grep -E), after:SECONDS, stable:SECONDS (without a load)")
      ->check(offers("condition"))
      ->type_name("CONDITION");
  run.add_option("--then", launch.then, "Behind that: let it go on (default), or stop it")
      ->transform(one_of({{"keep", int(AfterReady::keep)}, {"stop", int(AfterReady::stop)}}))
      ->type_name("keep|stop");
  run.add_flag("--gate", launch.gate,
               "The first finding at or above --fail-on ends the command at once");
  run.add_flag("--judge-exit", launch.judge_exit, "Exit with 1 where something was found");
  run.add_option("--record", launch.record, "Keep recording and snapshot, for --from and `diff`")
      ->check(CLI::Validator(check_named, ""))
      ->type_name("DIR");
  run.add_flag_callback(
      "--no-ptrace", [&launch] { launch.ptrace = false; },
      "Do not hold processes before their end; judge them at their last load");
}

}  // namespace cudart_doctor
