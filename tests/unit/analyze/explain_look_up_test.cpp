// What words mean to `explain`, and what a report says of a cause.
#include <algorithm>
#include <string>

#include "cudart_doctor/analyze/explain.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;

namespace {

bool near(std::string_view word, std::string_view known) {
  const auto words = look_up(word).near;
  CHECK(words.size() <= 5);
  return std::find(words.begin(), words.end(), known) != words.end();
}

/// A process that was seen completely, without a probe.
Report seen_report() {
  Report report;
  report.snapshot.maps.rows.resize(1);
  report.snapshot.environment = Fact<Environment>::known({});
  report.snapshot.loader.cache = Fact<std::vector<LoaderCacheEntry>>::known({});
  report.snapshot.host.kernel_module = Fact<std::string>::known("580.95.05");
  return report;
}

StandingKind kind(std::string_view finding, const Report& report) {
  return standing_of(finding, report).kind;
}

}  // namespace

TEST_CASE("a finding is known by id and by slug, in any case") {
  for (const std::string_view word :
       {"RT04", "rt04", "Rt04", "lookalike-selected", "LOOKALIKE-SELECTED"}) {
    INFO(word);
    REQUIRE(look_up(word).finding != nullptr);
    CHECK(look_up(word).finding->id == "RT04");
  }
}

TEST_CASE("a code is known by number and by both names, in any case") {
  for (const std::string_view word :
       {"201", "cudaErrorDeviceUninitialized", "CUDA_ERROR_INVALID_CONTEXT",
        "cudaerrordeviceuninitialized"}) {
    INFO(word);
    CHECK(look_up(word).finding == nullptr);
    CHECK(look_up(word).code == 201);
  }
  CHECK(look_up("700").code == 700);  // A name without causes here.
  CHECK(look_up("0").code == 0);
}

TEST_CASE("what is no code and no finding is not taken for one") {
  for (const std::string_view word :
       {"", "-1", "203", "1000", "99999999999999999999", "RT", "20 1"}) {
    INFO(word);
    CHECK(look_up(word).finding == nullptr);
    CHECK(look_up(word).code == -1);
  }
}

TEST_CASE("a slip names what it may have meant") {
  CHECK(near("RT4", "RT04"));
  CHECK(near("lookalike-selectd", "lookalike-selected"));
  CHECK(near("lookalike", "lookalike-selected"));
  CHECK(near("cudaErrorInvalidValu", "cudaErrorInvalidValue"));
  CHECK(near("CUDA_ERROR_INVALID_VALUES", "CUDA_ERROR_INVALID_VALUE"));
  CHECK(look_up(std::string(100'000, 'x')).near.empty());
}

TEST_CASE("a finding of the report confirms its cause") {
  Report report = seen_report();
  report.findings.push_back({.id = "RT04",
                             .slug = "lookalike-selected",
                             .severity = Severity::critical,
                             .headline = "FlashInfer takes the stub.",
                             .effect = {},
                             .evidence = {},
                             .fixes = {},
                             .no_help = {},
                             .consumer = {}});
  const Standing standing = standing_of("RT04", report);
  CHECK(standing.kind == StandingKind::confirmed);
  CHECK(standing.reason == "critical: FlashInfer takes the stub.");
  report.findings.back().severity = Severity::info;
  CHECK(kind("RT04", report) == StandingKind::noted);
}

TEST_CASE("a missing finding clears its cause only where everything was seen") {
  CHECK(kind("RT03", seen_report()) == StandingKind::not_found);
  CHECK(kind("RT04", seen_report()) == StandingKind::not_found);
  CHECK(kind("DR05", seen_report()) == StandingKind::not_found);

  Report unread = seen_report();
  unread.snapshot.capture.unread = {"/x: no"};
  CHECK(kind("RT03", unread) == StandingKind::unseen);
  CHECK(kind("RT04", unread) == StandingKind::unseen);

  Report blank = seen_report();
  blank.snapshot.environment = Fact<Environment>::unknown("no permission");
  CHECK(kind("RT03", blank) == StandingKind::not_found);
  CHECK(standing_of("RT11", blank).reason == "the environment: no permission");

  Report packages = seen_report();
  packages.snapshot.python.unread_directories = {"/x: no"};
  CHECK(kind("RT04", packages) == StandingKind::unseen);

  Report module = seen_report();
  module.snapshot.host.kernel_module = {};
  CHECK(kind("DR05", module) == StandingKind::unseen);

  Report rule = seen_report();
  rule.selections.emplace_back().open = OpenOutcome::unknown;
  CHECK(kind("RT04", rule) == StandingKind::unseen);

  Report self = seen_report();
  self.snapshot.environment_only = true;
  CHECK(kind("RT03", self) == StandingKind::unseen);
}

TEST_CASE("what only a probe or a peer can show is not cleared without them") {
  for (const std::string_view finding :
       {"DR02", "DR03", "DR06", "DR08", "DR13", "IP05", "IP06", "IP09", "SY05"}) {
    INFO(finding);
    CHECK(kind(finding, seen_report()) == StandingKind::unseen);
  }
  CHECK(standing_of("DR02", seen_report()).reason == "no probe ran (--probe on)");
  CHECK(standing_of("IP02", seen_report()).reason == "no peer was named (--peer PID)");

  Report probed = seen_report();
  probed.probe_verdict.outcome = ProbeOutcome::works;
  CHECK(kind("IP09", probed) == StandingKind::not_found);
  CHECK(kind("IP06", probed) == StandingKind::unseen);  // One card says nothing of pairs.
  probed.probe_verdict.outcome = ProbeOutcome::not_confirmed;
  CHECK(kind("IP09", probed) == StandingKind::unseen);
}

TEST_CASE("a variable that the program may have set since its start is not cleared") {
  CHECK(kind("IP01", seen_report()) == StandingKind::unseen);
  Report live = seen_report();
  live.snapshot.environment.get()->origin = EnvironmentOrigin::live_memory;
  CHECK(kind("IP01", live) == StandingKind::not_found);
}

TEST_CASE("a cause without a finding is not checked") {
  CHECK(kind("", seen_report()) == StandingKind::unchecked);
  CHECK(kind("XX99", seen_report()) == StandingKind::unchecked);
}
