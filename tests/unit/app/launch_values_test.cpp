// Exit codes of `run`, what a look came to, and what maps tell.
#include <csignal>

#include "cudart_doctor/app/judgement.hpp"
#include "cudart_doctor/app/launch_exit.hpp"
#include "cudart_doctor/app/launch_look.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;

namespace {

constexpr int exited(int code) { return code << 8; }

Judgement judgement(RunEnd end, std::optional<Severity> worst, std::uint64_t runtimes = 1) {
  Judgement out;
  out.end = end;
  out.worst = worst;
  out.runtimes = runtimes;
  return out;
}

}  // namespace

TEST_CASE("a command that ended before it was ready and was to be stopped has the verdict's code") {
  struct Row {
    LaunchEnd end;
    AfterReady then;
    int code;
  };
  for (const Row& row : {
           Row{{.never_ready = true, .verdict = RunEnd::undecided}, AfterReady::stop, 3},
           Row{{.never_ready = true, .verdict = RunEnd::findings}, AfterReady::stop, 1},
           Row{{.wait_status = 7 << 8, .never_ready = true, .verdict = RunEnd::undecided},
               AfterReady::stop,
               7},
           Row{{.never_ready = true, .verdict = RunEnd::undecided}, AfterReady::keep, 0},
           Row{{.verdict = RunEnd::undecided}, AfterReady::stop, 0},
       }) {
    LaunchRequest launch;
    launch.then = row.then;
    CHECK(launch_exit_code(row.end, launch) == row.code);
  }
}

TEST_CASE("the exit code is the command's own unless it was asked to say more") {
  struct Row {
    LaunchEnd end;
    bool judge_exit;
    int code;
  };
  for (const Row& row : {
           Row{{.wait_status = exited(0), .verdict = RunEnd::findings}, false, 0},
           Row{{.wait_status = exited(7), .verdict = RunEnd::findings}, false, 7},
           Row{{.wait_status = SIGTERM, .verdict = RunEnd::ok}, false, 143},
           Row{{.wait_status = exited(0), .verdict = RunEnd::usage}, false, 0},
           Row{{.wait_status = exited(0), .verdict = RunEnd::ok}, true, 0},
           Row{{.wait_status = exited(0), .verdict = RunEnd::warned}, true, 0},
           Row{{.wait_status = exited(0), .verdict = RunEnd::findings}, true, 1},
           Row{{.wait_status = exited(7), .verdict = RunEnd::findings}, true, 1},
           Row{{.wait_status = SIGSEGV, .verdict = RunEnd::findings}, true, 1},
           Row{{.wait_status = exited(0), .verdict = RunEnd::undecided}, true, 3},
           Row{{.wait_status = exited(7), .verdict = RunEnd::undecided}, true, 7},
           Row{{.wait_status = exited(0), .verdict = RunEnd::usage}, true, 2},
           Row{{.wait_status = exited(7), .verdict = RunEnd::usage}, true, 7},
           Row{{.wait_status = SIGTERM, .gated = true, .verdict = RunEnd::findings}, false, 1},
           Row{{.wait_status = exited(0), .gated = true, .verdict = RunEnd::usage}, false, 1},
           Row{{.wait_status = SIGTERM, .stopped = true, .verdict = RunEnd::ok}, false, 0},
           Row{{.wait_status = SIGTERM, .stopped = true, .verdict = RunEnd::warned}, false, 0},
           Row{{.wait_status = SIGTERM, .stopped = true, .verdict = RunEnd::findings}, false, 1},
           Row{{.wait_status = SIGTERM, .stopped = true, .verdict = RunEnd::undecided}, false, 3},
           Row{{.wait_status = SIGTERM, .stopped = true, .verdict = RunEnd::usage}, false, 2},
       }) {
    INFO(row.end.wait_status << " " << int(row.end.verdict) << " " << row.judge_exit);
    LaunchRequest launch;
    launch.judge_exit = row.judge_exit;
    CHECK(launch_exit_code(row.end, launch) == row.code);
  }
}

TEST_CASE("what a look came to survives its way") {
  Judgement before = judgement(RunEnd::findings, Severity::critical, 3);
  before.findings = {"RT04", "RT03"};
  before.headline = "one: two\n3:three";
  before.undecided = std::string("\0\xff", 2);
  before.snapshot = "{\"a\": 1}";
  before.maps = "7f00-7f01 r-xp\n";
  const auto after = parse_judgement(write_judgement(before));
  REQUIRE(after);
  CHECK(after->failure.empty());
  CHECK(after->end == before.end);
  CHECK(after->worst == before.worst);
  CHECK(after->runtimes == 3);
  CHECK(after->findings == before.findings);
  CHECK(after->headline == before.headline);
  CHECK(after->undecided == before.undecided);
  CHECK(after->snapshot == before.snapshot);
  CHECK(after->maps == before.maps);
}

TEST_CASE("what a look came to is refused where it is not whole") {
  const std::string whole = write_judgement(judgement(RunEnd::ok, std::nullopt));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    INFO(size);
    CHECK_FALSE(parse_judgement(whole.substr(0, size)).has_value());
  }
  CHECK_FALSE(parse_judgement(whole + "0:").has_value());
  CHECK_FALSE(parse_judgement("0:1:9" + whole.substr(5)).has_value());
  CHECK_FALSE(parse_judgement("18446744073709551615:x").has_value());
}

TEST_CASE("what counts is graver than what is open, and that than what only warns") {
  const std::vector<Judgement> order = {
      judgement(RunEnd::findings, Severity::critical), judgement(RunEnd::findings, Severity::error),
      judgement(RunEnd::undecided, Severity::warning), judgement(RunEnd::undecided, std::nullopt),
      judgement(RunEnd::warned, Severity::warning),    judgement(RunEnd::ok, Severity::info),
      judgement(RunEnd::ok, std::nullopt, 1),          judgement(RunEnd::ok, std::nullopt, 0),
  };
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t j = 0; j < order.size(); ++j) {
      INFO(i << " " << j);
      CHECK(is_graver(order[i], order[j]) == (i < j));
    }
  }
}

TEST_CASE("maps tell of the recorder, the family and the text") {
  constexpr std::string_view kMaps =
      "55d0-55d1 r--p 00000000 08:01 1 /usr/bin/python3.11\n"
      "7f00-7f01 r-xp 00000000 08:01 2 /opt/a b/libcudart.so.12\n"
      "7f02-7f03 r--p 00000000 08:01 3 /data/libcudart.txt\n"
      "7f04-7f05 r-xp 00000000 08:01 4 /tmp/run-x/audit.so\n"
      "7ffd-7ffe rw-p 00000000 00:00 0 [stack]\n";
  const MapsLook look = find_in_maps(kMaps, {"/tmp/run-x/audit.so", "a b/lib"});
  CHECK(look.recorder);
  CHECK(look.family);
  CHECK(look.text);
  const MapsLook other = find_in_maps(kMaps, {"/tmp/run-y/audit.so", "libtorch"});
  CHECK_FALSE(other.recorder);
  CHECK_FALSE(other.text);
}

TEST_CASE("the recorder is known after its file was removed, another file is not") {
  const auto has_recorder = [](const std::string& path) {
    return find_in_maps("7f00-7f01 r-xp 00000000 08:01 3 " + path + "\n", {"/tmp/r.so", {}})
        .recorder;
  };
  CHECK(has_recorder("/tmp/r.so"));
  CHECK(has_recorder("/tmp/r.so (deleted)"));
  CHECK_FALSE(has_recorder("/tmp/r.so.1"));
  CHECK_FALSE(has_recorder("/tmp/r"));
}

TEST_CASE("a file of data that is named like a runtime is none that was loaded") {
  const MapsLook look =
      find_in_maps("7f02-7f03 r--p 00000000 08:01 3 /data/libcudart.so\n", {{}, {}});
  CHECK_FALSE(look.family);
  CHECK_FALSE(look.text);
}
