// Limits of time: one stage, the whole probe, and children that do not answer in their own ways.
#include <sys/resource.h>

#include <chrono>

#include "cudart_doctor/probe/runner.hpp"
#include "live/live_support.hpp"
#include "probe_support.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using probe::passed;
using probe::plan_with;
using probe::single_plan;
using probe::stage_of;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

ProbeRunOptions stage_limit(milliseconds limit) {
  auto options = probe::options();
  options.stage_limit = limit;
  return options;
}

}  // namespace

TEST_CASE("a stage that hangs is ended and named, and the others go on") {
  const auto facts = probe::run(plan_with("exporter:0:load=hang"), stage_limit(milliseconds(400)));
  const auto& hung = facts.runtimes[0];
  CHECK(hung.exporter.kind == ChildEndKind::timed_out);
  CHECK(hung.importer.kind == ChildEndKind::killed);
  const auto* stage = stage_of(hung, Stage::load, ProbeSide::exporter);
  REQUIRE(stage != nullptr);
  CHECK(stage->outcome == StageOutcome::begun);
  CHECK(stage->detail == "no answer within 400 ms");
  CHECK(passed(facts.runtimes[1]));
  CHECK(passed(facts.runtimes[2]));
}

TEST_CASE("who waits for a hanging child is not taken for it") {
  const auto facts =
      probe::run(single_plan("importer:0:ipc_compute=hang"), stage_limit(milliseconds(400)));
  CHECK(facts.runtimes[0].importer.kind == ChildEndKind::timed_out);
  CHECK(facts.runtimes[0].exporter.kind == ChildEndKind::killed);
  const auto* waiting = stage_of(facts.runtimes[0], Stage::ipc_verify, ProbeSide::exporter);
  REQUIRE(waiting != nullptr);
  CHECK(waiting->outcome == StageOutcome::skipped);
}

TEST_CASE("a child that hangs before its first record hangs at the start") {
  const auto facts = probe::run(single_plan("*:*:start=hang"), stage_limit(milliseconds(300)));
  const auto* start = stage_of(facts.runtimes[0], Stage::start, ProbeSide::exporter);
  REQUIRE(start != nullptr);
  CHECK(start->outcome == StageOutcome::begun);
  CHECK(start->detail == "no answer within 300 ms");
}

TEST_CASE("a library that closes the result descriptor does not hold the runner up") {
  const auto began = steady_clock::now();
  const auto facts = probe::run(single_plan("exporter:0:load=close"), probe::options());
  CHECK(steady_clock::now() - began < std::chrono::seconds(5));
  CHECK(stage_of(facts.runtimes[0], Stage::load, ProbeSide::exporter)->detail ==
        "its result descriptor was closed");
}

TEST_CASE("the deadline holds for the whole probe, and what it cost is said") {
  auto options = probe::options();
  options.deadline = milliseconds(500);
  const auto began = steady_clock::now();
  const auto facts = probe::run(plan_with("*:1:load=hang"), options);
  CHECK(steady_clock::now() - began < options.deadline + std::chrono::seconds(2));
  CHECK(passed(facts.runtimes[0]));
  CHECK(facts.runtimes[1].exporter.kind == ChildEndKind::timed_out);
  CHECK(facts.runtimes[2].skipped == "no time left");
}

TEST_CASE("a library that prints for ever does not outlast a stage") {
  const auto facts =
      probe::run(single_plan("exporter:0:load=print-for-ever"), stage_limit(milliseconds(400)));
  CHECK(facts.runtimes[0].exporter.kind == ChildEndKind::timed_out);
}

TEST_CASE("a supervisor is told of life at least once a second") {
  auto options = stage_limit(milliseconds(1500));
  auto last = steady_clock::now();
  auto longest = steady_clock::duration::zero();
  options.progress = [&](std::string_view) {
    longest = std::max(longest, steady_clock::now() - last);
    last = steady_clock::now();
  };
  SECTION("nothing comes") {
    static_cast<void>(probe::run(single_plan("exporter:0:load=hang"), options));
  }
  SECTION("only output comes") {
    static_cast<void>(probe::run(single_plan("exporter:0:load=print-for-ever"), options));
  }
  CHECK(longest < std::chrono::seconds(1));
}

TEST_CASE("too few descriptors of our own are not blamed on the file") {
  rlimit usual = {};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &usual) == 0);
  constexpr rlim_t kPlenty = 64;
  const auto plan = probe::single_plan("");
  for (rlim_t most = 3; most < kPlenty; ++most) {
    rlimit limit = usual;
    limit.rlim_cur = most;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
    const auto facts = run_probe(plan, probe::options());
    ::setrlimit(RLIMIT_NOFILE, &usual);
    const auto* file = probe::stage_of(facts.runtimes[0], Stage::file, ProbeSide::runner);
    INFO(most << " descriptors: " << facts.runtimes[0].skipped);
    CHECK((file == nullptr || file->outcome == StageOutcome::pass));
  }
}
