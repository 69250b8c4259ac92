// Allowed findings: what may be written, until when it holds, and that they do not count.
#include "cudart_doctor/analyze/allow.hpp"

#include <string>
#include <string_view>

#include "judge_world.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

namespace {

World shim_first() { return World().library(kShim, shim()).library(kReal12, runtime12()); }

Allowance allow(std::string_view text) { return parse_allowance(text).value(); }

/// shim_first() with `allowances`, looked at in the afternoon of `day`.
Report judged(std::vector<Allowance> allowances, const std::string& day = "2026-11-01") {
  Snapshot snapshot = shim_first().snapshot();
  snapshot.capture.taken_at = day.empty() ? "" : day + "T15:00:00Z";
  return make_report(std::move(snapshot), {.policy = {}, .allowances = std::move(allowances)});
}

const Finding& finding_of(const Report& report, std::string_view id) {
  for (const Finding& finding : report.findings) {
    if (finding.id == id) return finding;
  }
  FAIL("no finding " << id);
  return report.findings.front();
}

}  // namespace

TEST_CASE("a finding is allowed by id or slug, in any case, with or without a last day") {
  for (const std::string_view text : {"RT06", "rt06", "runtime-mixed-major"}) {
    CHECK(allow(text).id == "RT06");
    CHECK(allow(text).until.empty());
    CHECK(allow(std::string(text) + ":until=2027-01-31").until == "2027-01-31");
  }
}

TEST_CASE("what is no allowance is a usage error that says why") {
  struct Row {
    std::string_view text;
    std::string_view why;
  };
  const Row rows[] = {{"", "'' is no finding"},
                      {"RT99", "'RT99' is no finding; near: RT0"},
                      {"lookalike-select", "near: lookalike-selected"},
                      {"201", "'201' is no finding"},
                      {"zzzzzzzz", "`cudart-doctor explain` lists them"},
                      {"RT06:", "'' is no end of an allowance"},
                      {"RT06:2027-01-31", "such as until=2027-01-31"},
                      {"RT06:until=tomorrow", "'until=tomorrow'"},
                      {"RT06:until=2027-02-30", "'until=2027-02-30'"},
                      {"\x1b[31m", "\\x1b[31m"}};
  for (const Row& row : rows) {
    INFO(row.text);
    const auto allowance = parse_allowance(row.text);
    REQUIRE_FALSE(allowance);
    CHECK(allowance.error().kind == ErrorKind::usage);
    CHECK(allowance.error().message.find(row.why) != std::string::npos);
  }
}

TEST_CASE("a file has one allowance a line, with comments, and names the line that is none") {
  const auto all = parse_allow_file(
      "# known\n\n  RT06 # until the image is new\r\nlookalike-mapped:until=2027-01-31", "a\x1b");
  REQUIRE(all);
  REQUIRE(all->size() == 2);
  CHECK((*all)[0].id == "RT06");
  CHECK((*all)[0].origin == "a\\x1b line 3:");
  CHECK((*all)[1].id == "RT03");
  CHECK((*all)[1].until == "2027-01-31");
  const auto bad = parse_allow_file("RT06\n\nRT6\n", "allow");
  REQUIRE_FALSE(bad);
  CHECK(bad.error().message.starts_with("allow line 3: 'RT6' is no finding"));
  std::string many;
  for (int i = 0; i < 5000; ++i) many += "RT06\n";
  CHECK_FALSE(parse_allow_file(many, "allow"));
  CHECK(parse_allow_file("", "allow")->empty());
  CHECK(parse_allow_file("\xef\xbb\xbfRT06\n", "allow")->size() == 1);
}

TEST_CASE("an allowed finding stays, last, and has no say in the verdict") {
  const Report plain = judged({});
  REQUIRE(plain.findings.front().id == "RT04");
  REQUIRE(plain.verdict.exit_code == 1);

  const Report report = judged({allow("RT04")});
  CHECK(report.findings.size() == plain.findings.size());
  CHECK(report.findings.front().id != "RT04");
  CHECK(report.findings.back().allowed == "--allow RT04");
  CHECK(report.verdict.worst == report.findings.front().severity);
  CHECK(report.verdict.end == RunEnd::warned);
  CHECK(report.verdict.exit_code == 0);
  CHECK(report.allowances.ended.empty());
  CHECK(report.allowances.unused.empty());
}

TEST_CASE("with everything allowed nothing is left to judge by") {
  std::vector<Allowance> all;
  for (const Finding& finding : judged({}).findings) all.push_back(allow(finding.id));
  const Report report = judged(all);
  CHECK(report.findings.size() == judged({}).findings.size());
  CHECK_FALSE(report.verdict.worst);
  CHECK(report.verdict.end == RunEnd::ok);
}

TEST_CASE("an allowance holds through its last day; then the finding counts and it is said") {
  const std::vector<Allowance> until = {allow("RT04:until=2026-11-01")};
  for (const std::string day : {"2026-10-31", "2026-11-01"}) {
    INFO(day);
    const Report report = judged(until, day);
    CHECK(finding_of(report, "RT04").allowed == "--allow RT04 until 2026-11-01");
    CHECK(report.verdict.exit_code == 0);
    CHECK(report.allowances.ended.empty());
  }
  const Report later = judged(until, "2026-11-02");
  CHECK(finding_of(later, "RT04").allowed.empty());
  CHECK(later.verdict.exit_code == 1);
  CHECK(later.allowances.ended == std::vector<std::string>{"--allow RT04 ended 2026-11-01"});
}

TEST_CASE("without a date of the look an allowance with an end does not hold") {
  const Report report = judged({allow("RT04:until=2026-11-01")}, "");
  CHECK(report.verdict.exit_code == 1);
  REQUIRE(report.allowances.ended.size() == 1);
  CHECK(report.allowances.ended.front().find("no date") != std::string::npos);
  CHECK(judged({allow("RT04")}, "").verdict.exit_code == 0);
}

TEST_CASE("of several allowances of one finding the one in force counts") {
  const Report report =
      judged({allow("RT04:until=2026-01-01"), allow("RT04:until=2027-01-01"), allow("RT04")});
  CHECK(finding_of(report, "RT04").allowed == "--allow RT04 until 2027-01-01");
  CHECK(report.allowances.ended.empty());
}

TEST_CASE("an allowance that no finding needs is told apart from one that ended") {
  const Report report = judged({allow("DR13"), allow("DR13"), allow("DR12:until=2026-01-01")});
  CHECK(report.allowances.unused ==
        std::vector<std::string>{"--allow DR13", "--allow DR12 until 2026-01-01"});
  CHECK(report.allowances.ended.empty());
}

TEST_CASE("an allowance decides nothing that could not be seen") {
  Snapshot snapshot = shim_first().unread("/x/libfoo.so", "Permission denied").snapshot();
  const Report report =
      make_report(std::move(snapshot), {.policy = {}, .allowances = {allow("RT04")}});
  CHECK(report.verdict.end == RunEnd::undecided);
  CHECK(report.verdict.exit_code == 3);
}
