// One line: what stands in it, and that nothing makes it longer or two.
#include <algorithm>
#include <string>

#include "cudart_doctor/render/render.hpp"
#include "support/catch.hpp"
#include "support/report_builder.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::testing;

namespace {

Report nagios(Report report) {
  report.verdict.exit_style = ExitStyle::nagios;
  return report;
}

/// What a monitor shows: all before the performance data.
std::string before_bar(const std::string& line) { return line.substr(0, line.find(" | ")); }

void check_one_line(const std::string& line) {
  REQUIRE(line.ends_with('\n'));
  CHECK(before_bar(line).size() <= 81);
  CHECK(std::ranges::count(line, '\n') == 1);
  CHECK(std::ranges::none_of(line, [](char each) {
    const auto byte = static_cast<unsigned char>(each);
    return (byte < 0x20 && byte != '\n') || byte == 0x7f;
  }));
}

Failure failure_of(std::string message, ExitStyle style) {
  return {{ErrorKind::gone, std::move(message), 0}, style, 3};
}

}  // namespace

TEST_CASE("a line is verdict, code, sentence and process") {
  CHECK(render_line(critical_report()) ==
        "CRITICAL RT04 FlashInfer would take TileLang's stub for the CUDA ... (pid 4121)\n");
  CHECK(render_line(healthy_report()) == "OK no finding (pid 4121)\n");
  CHECK(render_line(unreadable_report()) ==
        "UNKNOWN the mapped libcudart.so.12 could not be read (permission ... (pid 4121)\n");
  CHECK(render_line(environment_report()).ends_with(" (environment)\n"));
}

TEST_CASE("a look-alike that many take is named before those that take it") {
  Report report = critical_report();
  report.findings.front().headline =
      "SGLang 0.5.9, FlashInfer 0.6.14 and PyTorch 2.11 would take TileLang's stub "
      "libcudart_stub.so for the CUDA runtime.";
  CHECK(render_line(report) == "CRITICAL RT04 libcudart_stub.so taken by FlashInfer (pid 4121)\n");
}

TEST_CASE("a monitoring plugin's line begins with service and state, and ends with counts") {
  CHECK(render_line(nagios(critical_report())) ==
        "CUDART CRITICAL - RT04 FlashInfer would take TileLang's stub for ... (pid 4121) | "
        "critical=1;;;0 error=0;;;0 warning=1;;;0 info=0;;;0 allowed=0;;;0\n");
  CHECK(before_bar(render_line(nagios(healthy_report()))) == "CUDART OK - no finding (pid 4121)");
  CHECK(render_line(nagios(environment_report())).starts_with("CUDART WARNING - "));
}

TEST_CASE("where nothing was decided no count is claimed") {
  const std::string line = render_line(nagios(unreadable_report()));
  CHECK(line.starts_with("CUDART UNKNOWN - "));
  CHECK(line.find('|') == std::string::npos);
}

TEST_CASE("allowed findings and a probe that was refused are not passed over") {
  Report report = healthy_report();
  report.findings = critical_report().findings;
  for (Finding& finding : report.findings) finding.allowed = "--allow X";
  CHECK(render_line(report) == "OK no finding; allowed: RT04, RT07 (pid 4121)\n");
  report.snapshot.probe.decision = ProbeDecision::refused;
  CHECK(render_line(report) ==
        "OK no finding; not tested on a GPU; allowed: RT04, RT07 (pid 4121)\n");
}

TEST_CASE("no report makes a line longer than 80 bytes, or two of it") {
  for (const auto& [name, report] : all_reports()) {
    INFO(name);
    check_one_line(render_line(report));
    check_one_line(render_line(nagios(report)));
    Report undecided = report;
    undecided.verdict.end = RunEnd::undecided;
    check_one_line(render_line(nagios(undecided)));
  }
}

TEST_CASE("a bar in a foreign name does not begin performance data") {
  Report report = critical_report();
  report.findings.front().headline = "a|b | c=1";
  const std::string line = render_line(nagios(report));
  CHECK(line.find("a\\x7cb \\x7c c=1") != std::string::npos);
  CHECK(std::ranges::count(line, '|') == 1);
}

TEST_CASE("a run without a report is a line too, whatever its message holds") {
  CHECK(render_error_line(failure_of("no process with PID 7.", ExitStyle::npd)) ==
        "UNKNOWN no process with PID 7\n");
  CHECK(render_error_line(failure_of("no process with PID 7", ExitStyle::nagios)) ==
        "CUDART UNKNOWN - no process with PID 7\n");
  for (const std::string& text : nasty_texts()) {
    check_one_line(render_error_line(failure_of(text, ExitStyle::standard)));
    const std::string line = render_error_line(failure_of(text, ExitStyle::nagios));
    check_one_line(line);
    CHECK(line.find('|') == std::string::npos);
  }
}
