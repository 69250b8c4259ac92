// The gauges: what has a sample and what has none. That the text format is kept is for the parser
// of Prometheus' own client to say (formats_test.py).
#include <string>
#include <vector>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/render/render.hpp"
#include "support/catch.hpp"
#include "support/report_builder.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::testing;

namespace {

/// Lines of the metric, without comments; the common prefix is cut.
std::vector<std::string> samples(const Report& report, std::string_view metric) {
  const std::string text = render_prometheus(report);
  const std::string start = "cudart_doctor_" + std::string(metric);
  std::vector<std::string> out;
  for (const std::string_view line : split(std::string_view(text), '\n')) {
    if (!line.starts_with(start)) continue;
    const std::string_view rest = line.substr(start.size());
    if (rest.starts_with('{') || rest.starts_with(' ')) out.emplace_back(rest);
  }
  return out;
}

using Samples = std::vector<std::string>;

}  // namespace

TEST_CASE("one state of the verdict is 1, the others are 0") {
  CHECK(samples(critical_report(), "verdict") ==
        Samples{"{state=\"ok\"} 0", "{state=\"warning\"} 0", "{state=\"findings\"} 1",
                "{state=\"undecided\"} 0"});
  CHECK(samples(environment_report(), "verdict")[1] == "{state=\"warning\"} 1");
  CHECK(samples(unreadable_report(), "verdict")[3] == "{state=\"undecided\"} 1");
}

TEST_CASE("findings are counted by code and severity, the allowed ones apart") {
  Report report = critical_report();
  report.findings.push_back(report.findings.back());
  CHECK(samples(report, "findings") == Samples{"{code=\"RT04\",severity=\"critical\"} 1",
                                               "{code=\"RT07\",severity=\"warning\"} 2"});
  CHECK(samples(report, "allowed_findings").empty());
  report.findings.back().allowed = "--allow RT07";
  CHECK(samples(report, "findings")[1] == "{code=\"RT07\",severity=\"warning\"} 1");
  CHECK(samples(report, "allowed_findings") == Samples{"{code=\"RT07\",severity=\"warning\"} 1"});
}

TEST_CASE("the time is that of the look; without one there is no sample") {
  Report report = healthy_report();
  report.snapshot.capture.taken_at = "2026-11-30T15:27:02Z";
  CHECK(samples(report, "last_run_timestamp_seconds") == Samples{" 1796052422"});
  report.snapshot.capture.taken_at = "yesterday";
  CHECK(samples(report, "last_run_timestamp_seconds").empty());
}

TEST_CASE("a runtime of unknown major is counted as such, and no file names a label") {
  Report report = critical_report();
  report.candidates[1].major = 12;
  CHECK(samples(report, "mapped_runtimes") ==
        Samples{"{kind=\"genuine\",major=\"12\"} 1", "{kind=\"shim\",major=\"unknown\"} 1"});
  report.candidates[1].major = 123456;
  CHECK(samples(report, "mapped_runtimes")[0] == "{kind=\"genuine\",major=\"unknown\"} 1");
}

TEST_CASE("a consumer has a sample where it is there and its rule's answer is known") {
  CHECK(samples(critical_report(), "consumer_ok").front().ends_with(" 0"));
  CHECK(samples(healthy_report(), "consumer_ok").empty());  // Not known to be there.
  Report unproven = critical_report();
  for (Selection& selection : unproven.selections) {
    selection.presence = Presence::present;
    selection.outcome = Outcome::undetermined;
    selection.missing.clear();
    selection.error_text.clear();
    selection.open = OpenOutcome::unknown;
  }
  CHECK(samples(unproven, "consumer_ok").empty());
}

TEST_CASE("the probe has samples where it ran") {
  for (const std::string_view metric :
       {"probe_ok", "probe_duration_seconds", "sharing_ok", "ipc_pair_ok"}) {
    CHECK(samples(refused_probe_report(), metric).empty());
    CHECK(samples(healthy_report(), metric).empty());
  }
  CHECK(samples(probed_report(), "probe_ok") == Samples{" 1"});
  CHECK(samples(probed_report(), "ipc_pair_ok") == Samples{"{src=\"0\",dst=\"0\"} 1"});
  CHECK(samples(failed_probe_report(), "probe_ok") == Samples{" 0"});
  CHECK(samples(failed_probe_report(), "ipc_pair_ok") == Samples{"{src=\"0\",dst=\"0\"} 0"});
}

TEST_CASE("a pair whose exchange did not come to its end has no sample") {
  Report report = probed_report();
  for (ProbedRuntime& runtime : report.snapshot.probe.runtimes) {
    for (StageResult& stage : runtime.stages) {
      if (stage.stage >= Stage::ipc_import) stage.outcome = StageOutcome::skipped;
    }
  }
  CHECK(samples(report, "ipc_pair_ok").empty());
}

TEST_CASE("a run without a report says that nothing was decided") {
  const std::string text = render_error_prometheus();
  CHECK(text.find("cudart_doctor_verdict{state=\"undecided\"} 1\n") != std::string::npos);
  CHECK(text.find("cudart_doctor_verdict{state=\"ok\"} 0\n") != std::string::npos);
  CHECK(text.find("findings{") == std::string::npos);
}
