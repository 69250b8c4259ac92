// The command line of `run`.
#include <string>
#include <vector>

#include "cudart_doctor/app/options.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;

namespace {

std::variant<Options, Immediate> parsed(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "cudart-doctor");
  return parse_options(static_cast<int>(arguments.size()), arguments.data());
}

}  // namespace

TEST_CASE("what stands behind -- is the command, whatever it looks like") {
  const auto result = parsed({"run", "--json", "--", "--pid", "", "[1,2]", "--", "-o", "x\xff"});
  const auto* const options = std::get_if<Options>(&result);
  REQUIRE(options != nullptr);
  CHECK(options->command == Command::run);
  CHECK(options->format == Format::json);
  CHECK(options->launch.command ==
        std::vector<std::string>{"--pid", "", "[1,2]", "--", "-o", "x\xff"});
  CHECK_FALSE(options->pid.has_value());
}

TEST_CASE("options of run are read before and behind its name") {
  const auto result =
      parsed({"--fail-on", "warning", "run", "--gate", "--judge-exit", "--no-ptrace", "--then",
              "stop", "--ready-when", "port:8000", "--record", "d", "-o", "f", "--", "true"});
  const auto* const options = std::get_if<Options>(&result);
  REQUIRE(options != nullptr);
  const LaunchRequest& launch = options->launch;
  CHECK(options->fail_on == Severity::warning);
  CHECK(launch.gate);
  CHECK(launch.judge_exit);
  CHECK_FALSE(launch.ptrace);
  CHECK(launch.then == AfterReady::stop);
  CHECK(launch.ready.kind == ReadyKind::port);
  CHECK(launch.record == "d");
  CHECK(options->output == "f");
  CHECK_FALSE(launch.report_to_stderr);
}

TEST_CASE("the report goes to stderr unless -o was given, be it -") {
  const auto plain = parsed({"run", "--", "true"});
  CHECK(std::get<Options>(plain).launch.report_to_stderr);
  const auto out = parsed({"run", "-o", "-", "--", "true"});
  CHECK_FALSE(std::get<Options>(out).launch.report_to_stderr);
}

TEST_CASE("a command line of run that makes no sense is told by name") {
  struct Row {
    std::vector<const char*> arguments;
    const char* message;
  };
  for (const Row& row :
       {Row{{"run"}, "the command is missing"},
        Row{{"run", "--"}, "the command is missing"},
        Row{{"run", "--", ""}, "name is empty"},
        Row{{"run", "python", "x"}, "run: python: not expected; put -- before the command"},
        Row{{"python", "run", "--", "x"}, "run: python: not expected before the --"},
        Row{{"run", "-m", "x"}, "run: -m: no such option; put -- before the command"},
        Row{{"run", "--timeout", "x"}, "The command of run stands behind --"},
        Row{{"run", "-o", "--", "true"}, "--output: its value is missing: --output FILE"},
        Row{{"run", "--then", "keep", "--then", "stop", "--", "true"},
            "--then is given more than once and takes one value: --then keep|stop"},
        Row{{"run", "--then", "stop", "--", "true"}, "--then needs --ready-when"},
        Row{{"run", "--then", "go", "--", "true"}, "none of keep, stop"},
        Row{{"run", "--ready-when", "soon", "--", "true"}, "none of mapped"},
        Row{{"run", "--ready-when", "port:70000", "--", "true"}, "TCP port"},
        Row{{"run", "--ready-when", "output:(", "--", "true"}, "regular expression"},
        Row{{"run", "--record", "", "--", "true"}, "names no file"},
        Row{{"run", "--pid", "1", "--", "true"}, "run: --pid: run inspects the command"},
        Row{{"run", "--port", "1", "--", "true"}, "--ready-when port:N"},
        Row{{"run", "--from", "d", "--", "true"}, "cudart-doctor --from DIR"},
        Row{{"run", "--load", "l", "--", "true"}, "cudart-doctor --load LIB"},
        Row{{"run", "--peer", "1", "--", "true"}, "--peer goes with --pid"},
        Row{{"run", "--probe", "off", "--", "true"}, "run: --probe: run probes nothing"},
        Row{{"run", "--probe-anyway", "--", "true"}, "run: --probe-anyway: run probes nothing"},
        Row{{"run", "--devices", "0", "--", "true"}, "run: --devices: run probes nothing"},
        Row{{"run", "--pairs", "all", "--", "true"}, "run: --pairs: run probes nothing"},
        Row{{"run", "--exit-style", "npd", "--", "true"}, "--judge-exit"},
        Row{{"run", "--json-schema", "--", "true"}, "without run"},
        Row{{"run", "--format", "line", "-v", "--", "true"}, "one size"}}) {
    const auto result = parsed(row.arguments);
    const auto* const immediate = std::get_if<Immediate>(&result);
    INFO(row.message);
    REQUIRE(immediate != nullptr);
    INFO(immediate->text);
    CHECK(immediate->to_stderr);
    CHECK(immediate->text.find(row.message) != std::string::npos);
    CHECK(immediate->exit_code != 0);
  }
}

TEST_CASE("options of run mean nothing without it") {
  CHECK(std::holds_alternative<Immediate>(parsed({"--gate"})));
  CHECK(std::holds_alternative<Immediate>(parsed({"snapshot", "--dir", "d", "--judge-exit"})));
}

TEST_CASE("a word run that is a value starts nothing") {
  const auto result = parsed({"--from", "run"});
  REQUIRE(std::holds_alternative<Options>(result));
  CHECK(std::get<Options>(result).command == Command::inspect);
}
