// What the runner makes of children that do their work, fail, or leave things behind.
#include "cudart_doctor/probe/runner.hpp"

#include <signal.h>
#include <unistd.h>

#include "live/live_support.hpp"
#include "probe_support.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;
using live::Scratch;
using probe::options;
using probe::passed;
using probe::plan_with;
using probe::single_plan;
using probe::stage_of;

TEST_CASE("one pair serves all candidates in turn") {
  const auto facts = probe::run(plan_with(""), options());
  REQUIRE(facts.runtimes.size() == 3);
  for (const auto& runtime : facts.runtimes) {
    CHECK(passed(runtime));
    CHECK_FALSE(runtime.alone);
    CHECK(runtime.exporter.kind == ChildEndKind::exited);
    CHECK(runtime.exporter.pid == facts.runtimes.front().exporter.pid);
  }
  CHECK(facts.runtimes.front().selected);
  CHECK(facts.decision == ProbeDecision::run);
}

TEST_CASE("the driver is checked once") {
  const auto facts = probe::run(plan_with("exporter:1:load=crash"), options());
  CHECK(facts.mechanisms.size() == 1);
  CHECK(stage_of(facts.runtimes[0], Stage::control, ProbeSide::exporter) != nullptr);
  CHECK(stage_of(facts.runtimes[1], Stage::control, ProbeSide::exporter) == nullptr);
}

TEST_CASE("equal contents are probed once") {
  auto plan = plan_with("");
  plan.subjects[0].build_id = "abc";
  plan.subjects[1].build_id = "def";
  plan.subjects[2].build_id = "abc";
  const auto facts = probe::run(plan, options());
  CHECK(passed(facts.runtimes[1]));
  CHECK(facts.runtimes[2].skipped == "same contents as " + plan.subjects[0].path);
}

TEST_CASE("what the plan leaves out is passed on with its reason") {
  auto plan = plan_with("");
  plan.subjects[1].skip = "exists only in memory";
  const auto facts = probe::run(plan, options());
  REQUIRE(facts.runtimes.size() == 3);
  CHECK(facts.runtimes[2].skipped == "exists only in memory");
  CHECK(facts.runtimes[2].candidate == 1);
  CHECK(passed(facts.runtimes[1]));
}

TEST_CASE("a cut file is not loaded") {
  Scratch scratch;
  const auto path = scratch.copy_toy("toy_cudart12", "libcudart.so.12");
  const auto text = live::read_text(path);
  live::write_text(path, std::string_view(text).substr(0, 3000));
  ProbePlan plan;
  plan.subjects = {probe::subject_at(path)};
  const auto facts = probe::run(plan, options());
  const auto& runtime = facts.runtimes.front();
  REQUIRE(runtime.stages.size() == 1);
  CHECK(runtime.stages[0].stage == Stage::file);
  CHECK(runtime.stages[0].outcome == StageOutcome::fail);
  CHECK_THAT(runtime.stages[0].detail, StartsWith("cut: 3000 of "));
  CHECK(runtime.exporter.kind == ChildEndKind::not_started);
}

TEST_CASE("another file at the path is not taken for the candidate") {
  auto plan = single_plan("");
  plan.subjects[0].key.inode += 1;
  const auto facts = probe::run(plan, options());
  CHECK_THAT(facts.runtimes[0].skipped, ContainsSubstring("is another file now"));
}

TEST_CASE("a look-alike is asked for symbols in a process of its own, without a peer") {
  auto plan = plan_with("");
  plan.environment.emplace_back("REPORT", "descriptors");
  plan.subjects[1].look_alike = plan.subjects[1].symbols_only = true;
  const auto facts = probe::run(plan, options());
  REQUIRE(facts.runtimes.size() == 3);
  const auto& look_alike = facts.runtimes[2];
  CHECK(look_alike.candidate == 1);
  CHECK(look_alike.alone);
  const auto* symbols = stage_of(look_alike, Stage::symbols, ProbeSide::exporter);
  REQUIRE(symbols != nullptr);
  CHECK(symbols->detail == "0 1 2 3 5 10");
  CHECK(stage_of(look_alike, Stage::devices, ProbeSide::exporter) == nullptr);
  CHECK(look_alike.importer.kind == ChildEndKind::not_started);
}

TEST_CASE("a candidate that must be alone has a pair of its own") {
  auto plan = plan_with("");
  plan.subjects[0].alone = true;
  const auto facts = probe::run(plan, options());
  CHECK(facts.runtimes[0].alone);
  CHECK(facts.runtimes[0].exporter.pid != facts.runtimes[1].exporter.pid);
  CHECK(facts.runtimes[1].exporter.pid == facts.runtimes[2].exporter.pid);
}

TEST_CASE("a crash is repeated alone, and the others go on") {
  const auto facts = probe::run(plan_with("importer:1:ipc_compute=crash"), options());
  CHECK(passed(facts.runtimes[0]));
  CHECK(passed(facts.runtimes[2]));
  const auto& crashed = facts.runtimes[1];
  CHECK(crashed.alone);
  CHECK(crashed.importer.kind == ChildEndKind::signalled);
  CHECK(crashed.importer.status == SIGSEGV);
  CHECK(crashed.exporter.kind != ChildEndKind::not_started);
  const auto* stage = stage_of(crashed, Stage::ipc_compute, ProbeSide::importer);
  REQUIRE(stage != nullptr);
  CHECK(stage->outcome == StageOutcome::begun);
  CHECK(stage->detail == "SIGSEGV");
}

TEST_CASE("the first of a pair had no company and is not repeated") {
  const auto facts = probe::run(plan_with("exporter:0:load=bus"), options());
  const auto* stage = stage_of(facts.runtimes[0], Stage::load, ProbeSide::exporter);
  REQUIRE(stage != nullptr);
  CHECK(stage->detail == "SIGBUS");
  CHECK(facts.runtimes[0].exporter.status == SIGBUS);
  CHECK(passed(facts.runtimes[1]));
  CHECK(passed(facts.runtimes[2]));
}

TEST_CASE("what failed beside others and passes alone says so") {
  const auto facts = probe::run(plan_with("exporter:1:symbols=in-company-fail"), options());
  const auto& runtime = facts.runtimes[1];
  CHECK(runtime.alone);
  REQUIRE_FALSE(runtime.stages.empty());
  const auto& note = runtime.stages.back();
  CHECK(note.stage == Stage::symbols);
  CHECK(note.outcome == StageOutcome::skipped);
  CHECK(note.side == ProbeSide::runner);
  CHECK_THAT(note.detail, StartsWith("failed beside other runtimes, passed alone"));
}

TEST_CASE("after a failed stage the rest has a fresh pair") {
  // As with a damaged context: nothing works any more in the process that saw the failure.
  const auto facts = probe::run(
      plan_with("exporter:0:ipc_export=fail exporter:1:symbols=after-failure-hang"), options());
  CHECK(stage_of(facts.runtimes[0], Stage::ipc_export, ProbeSide::exporter)->outcome ==
        StageOutcome::fail);
  CHECK(passed(facts.runtimes[1]));
  CHECK(passed(facts.runtimes[2]));
}

TEST_CASE("a failed check of the driver is not held against the candidate") {
  const auto facts = probe::run(plan_with("exporter:0:control=fail"), options());
  CHECK(facts.runtimes[0].exporter.pid == facts.runtimes[2].exporter.pid);
}

TEST_CASE("a daemon that a library starts does not outlive the probe") {
  const auto facts = probe::run(plan_with("*:1:load=daemon"), options());
  CHECK(passed(facts.runtimes[1]));
}

TEST_CASE("a library that prints megabytes is drained, and head and tail are kept") {
  const auto facts = probe::run(single_plan("exporter:0:load=print"), options());
  CHECK(passed(facts.runtimes[0]));
  const auto& output = facts.runtimes[0].exporter.output;
  CHECK_THAT(output, StartsWith("the first line\n"));
  CHECK_THAT(output, EndsWith("\nthe last line\n"));
  CHECK_THAT(output, ContainsSubstring("bytes left out"));
  CHECK(output.size() < 17000);
}

TEST_CASE("a child that leaves early has not passed") {
  const auto facts = probe::run(single_plan("exporter:0:symbols=exit"), options());
  const auto* stage = stage_of(facts.runtimes[0], Stage::symbols, ProbeSide::exporter);
  REQUIRE(stage != nullptr);
  CHECK(stage->outcome == StageOutcome::begun);
  CHECK(stage->detail == "exit code 0 before it was done");
}

TEST_CASE("children that cannot start are said to, once for all") {
  const auto facts = probe::run(plan_with("exporter:*:start=crash"), options());
  for (const auto& runtime : facts.runtimes) {
    const auto* start = stage_of(runtime, Stage::start, ProbeSide::exporter);
    REQUIRE(start != nullptr);
    CHECK(start->outcome == StageOutcome::begun);
    CHECK(start->detail == "SIGSEGV");
  }
}

TEST_CASE("a program that cannot be executed is named with the step") {
  Scratch scratch;
  live::write_text(scratch.path("program"), "no program");
  auto with = options();
  with.executable = scratch.path("program");
  const auto facts = probe::run(single_plan(""), with);
  const auto* start = stage_of(facts.runtimes[0], Stage::start, ProbeSide::exporter);
  REQUIRE(start != nullptr);
  CHECK(start->outcome == StageOutcome::fail);
  CHECK(start->detail == "execveat: Permission denied");
}

TEST_CASE("a malformed record ends the child at its stage") {
  const auto facts = probe::run(single_plan("importer:0:load=malformed"), options());
  const auto* stage = stage_of(facts.runtimes[0], Stage::load, ProbeSide::importer);
  REQUIRE(stage != nullptr);
  CHECK(stage->outcome == StageOutcome::begun);
  CHECK_THAT(stage->detail, StartsWith("malformed record"));
  CHECK(facts.runtimes[0].importer.kind == ChildEndKind::killed);
}

TEST_CASE("a record of a runtime that was not ordered is refused") {
  const auto facts = probe::run(single_plan("exporter:0:load=foreign"), options());
  CHECK_THAT(stage_of(facts.runtimes[0], Stage::load, ProbeSide::exporter)->detail,
             StartsWith("malformed record"));
}

TEST_CASE("the environment is the target's, with the compiler cache off") {
  auto plan = single_plan("");
  plan.environment.emplace_back("REPORT", "environment");
  plan.environment.emplace_back("CUDA_CACHE_DISABLE", "0");
  plan.environment.emplace_back("CUDA_VISIBLE_DEVICES", "1");
  const auto facts = probe::run(plan, options());
  const auto told = probe::reported(facts);
  CHECK_THAT(told, ContainsSubstring("CUDA_CACHE_DISABLE=1"));
  CHECK_THAT(told, ContainsSubstring("CUDA_VISIBLE_DEVICES=1"));
  CHECK_THAT(told, !ContainsSubstring("HOME="));
  CHECK(facts.environment == std::map<std::string, std::string>{{"CUDA_CACHE_DISABLE", "1"},
                                                                {"CUDA_VISIBLE_DEVICES", "1"}});
}

TEST_CASE("only the agreed descriptors are open in a child") {
  auto plan = plan_with("");
  plan.environment.emplace_back("REPORT", "descriptors");
  const int stray = ::dup(STDERR_FILENO);
  const auto facts = probe::run(plan, options());
  ::close(stray);
  CHECK(probe::reported(facts) == "0 1 2 3 4 5 10 11 12");
}

TEST_CASE("a child leads a session of its own, without the doctor's terminal") {
  auto plan = single_plan("");
  plan.environment.emplace_back("REPORT", "session");
  CHECK(probe::reported(probe::run(plan, options())) == "its own");
}

TEST_CASE("ignored signals are the doctor's own affair") {
  auto plan = single_plan("");
  plan.environment.emplace_back("REPORT", "signals");
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  const auto facts = probe::run(plan, options());
  ::signal(SIGPIPE, before);
  CHECK(probe::reported(facts) == "default");
}

TEST_CASE("a caller that ignores SIGCHLD still learns how a child ended") {
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  const auto facts = probe::run(single_plan("exporter:0:load=crash"), options());
  const auto after = ::signal(SIGCHLD, before);
  CHECK(facts.runtimes[0].exporter.kind == ChildEndKind::signalled);
  CHECK(after == SIG_IGN);
}

TEST_CASE("a reused PID is refused") {
  live::Victim victim;
  auto plan = single_plan("");
  plan.identity.pid = victim.pid();
  plan.identity.start_ticks = 1;
  const auto facts = probe::run(plan, options());
  REQUIRE(facts.runtimes[0].stages.size() == 1);
  CHECK(facts.runtimes[0].stages[0].outcome == StageOutcome::fail);
  CHECK_THAT(facts.runtimes[0].stages[0].detail, ContainsSubstring("is not the process any more"));
}
