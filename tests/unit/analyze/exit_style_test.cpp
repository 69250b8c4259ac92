// Exit codes by style: the table of the documentation, and where a report lands in it.
#include "cudart_doctor/model/exit_style.hpp"

#include "judge_world.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

TEST_CASE("every end has the code that its reader expects") {
  struct Row {
    RunEnd end;
    int standard, nagios, npd;
  };
  const Row rows[] = {{RunEnd::ok, 0, 0, 0},
                      {RunEnd::warned, 0, 1, 0},
                      {RunEnd::findings, 1, 2, 1},
                      {RunEnd::usage, 2, 3, 2},
                      {RunEnd::undecided, 3, 3, 2}};
  for (const Row& row : rows) {
    INFO(static_cast<int>(row.end));
    CHECK(exit_code_of(row.end, ExitStyle::standard) == row.standard);
    CHECK(exit_code_of(row.end, ExitStyle::nagios) == row.nagios);
    CHECK(exit_code_of(row.end, ExitStyle::npd) == row.npd);
    CHECK(exit_code_of(row.end, ExitStyle::always_zero) == 0);
  }
}

TEST_CASE("a report's code is that of its end, and the end does not depend on the style") {
  struct Row {
    World world;
    Severity fail_on;
    RunEnd end;
  };
  const World healthy = World().library(kReal12, runtime12());
  const World shim_first = World().library(kShim, shim()).library(kReal12, runtime12());
  const World two = World().library(kReal12, runtime12()).library(kReal13, runtime13());
  const World nothing = World().library("/x/libm.so.6", make_plain());
  const Row rows[] = {
      {healthy, Severity::error, RunEnd::ok},
      {nothing, Severity::error, RunEnd::ok},
      {nothing, Severity::info, RunEnd::findings},
      {two, Severity::error, RunEnd::warned},
      {two, Severity::warning, RunEnd::findings},
      {shim_first, Severity::error, RunEnd::findings},
      {World(healthy).unread("/x/libfoo.so", "Permission denied"), Severity::error,
       RunEnd::undecided},
      {World(two).unread("/x/libfoo.so", "Permission denied"), Severity::error, RunEnd::undecided}};
  for (const Row& row : rows) {
    for (const ExitStyle style :
         {ExitStyle::standard, ExitStyle::nagios, ExitStyle::npd, ExitStyle::always_zero}) {
      const Verdict verdict =
          row.world.judge({.fail_on = row.fail_on, .policy = {}, .exit_style = style}).verdict;
      INFO(name_of(style));
      CHECK(verdict.end == row.end);
      CHECK(verdict.exit_style == style);
      CHECK(verdict.exit_code == exit_code_of(row.end, style));
    }
  }
}
