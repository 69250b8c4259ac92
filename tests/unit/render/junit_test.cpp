// The JUnit suite: which case passes, fails, is skipped or is an error. That it is XML is for
// parsers that are not ours to say (formats_test.py).
#include <string>

#include "cudart_doctor/analyze/catalogue.hpp"
#include "cudart_doctor/render/render.hpp"
#include "support/catch.hpp"
#include "support/report_builder.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::testing;

namespace {

/// The element of one case, whole.
std::string case_of(const std::string& document, const std::string& name) {
  const std::size_t begin = document.find("<testcase name=\"" + name);
  REQUIRE(begin != std::string::npos);
  const std::size_t line = document.find('\n', begin);
  if (document[line - 2] == '/') return document.substr(begin, line - begin);
  return document.substr(begin, document.find("</testcase>", begin) - begin);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The builder's reports have objects without lines of maps: as if those had not been read.
Report with_maps(Report report) {
  report.snapshot.maps.rows.emplace_back();
  return report;
}

}  // namespace

TEST_CASE("a finding that fails the run is a failure with its evidence and remedy") {
  const std::string text = render_junit(critical_report());
  const std::string failed = case_of(text, "RT04 lookalike-selected");
  CHECK(has(failed, "classname=\"cudart-doctor.runtimes\""));
  CHECK(has(failed,
            "<failure message=\"FlashInfer would take TileLang's stub for the CUDA "
            "runtime.\" type=\"critical\">CRITICAL FlashInfer"));
  CHECK(has(failed, "\nFIX restart all ranks"));
  CHECK(has(failed, "tilelang &gt;= 0.1.12"));
}

TEST_CASE("a lesser finding passes, and is told") {
  const std::string passed = case_of(render_junit(critical_report()), "RT07 ");
  CHECK_FALSE(has(passed, "<failure"));
  CHECK(has(passed, "<system-out>WARNING Which runtime FlashInfer takes"));
  Report strict = critical_report();
  strict.verdict.fail_on = Severity::warning;
  CHECK(has(case_of(render_junit(strict), "RT07 "), "<failure"));
}

TEST_CASE("an allowed finding is skipped with the permission, and still told") {
  const std::string skipped = case_of(render_junit(allowed_report()), "RT04 ");
  CHECK(has(skipped, "<skipped message=\"allowed: --allow RT04 until 2027-01-31\"/>"));
  CHECK(has(skipped, "TileLang's stub"));
  CHECK_FALSE(has(skipped, "<failure"));
}

TEST_CASE("what was seen and not found passes; what could not be seen is skipped with the reason") {
  const std::string text = render_junit(with_maps(healthy_report()));
  CHECK(case_of(text, "RT03 ").ends_with("time=\"0\"/>"));
  CHECK(has(case_of(text, "IP09 "), "<skipped message=\"not seen: no probe ran"));
  CHECK(has(case_of(text, "IP02 "), "no peer was named"));
  const std::string unread = render_junit(with_maps(unreadable_report()));
  CHECK(has(case_of(unread, "RT03 "), "<skipped message=\"not seen: 31 mapped libraries"));
}

TEST_CASE("a verdict that is open is an error of the inspection") {
  CHECK(has(case_of(render_junit(unreadable_report()), "inspection"),
            "<error message=\"the mapped "));
  CHECK(case_of(render_junit(healthy_report()), "inspection").ends_with("/>"));
}

TEST_CASE("every finding of the catalogue is a case, and the inspection") {
  const std::string count = std::to_string(catalogue().size() + 1);
  for (const auto& [name, report] : all_reports()) {
    INFO(name);
    CHECK(has(render_junit(report), "<testsuites name=\"cudart-doctor\" tests=\"" + count + "\""));
  }
}

TEST_CASE("what XML cannot write is written as reports write it") {
  Report report = critical_report();
  report.snapshot.host.name = "a<&>\"\xef\xbf\xbe\xef\xbf\xbf\x1b";
  CHECK(has(render_junit(report), "hostname=\"a&lt;&amp;&gt;&quot;\\u{fffe}\\u{ffff}\\x1b\""));
}

TEST_CASE("a run without a report is a suite of one error") {
  const std::string text = render_error_junit({{ErrorKind::permission, "needs <root>", 0}, {}, 3});
  CHECK(has(text, "tests=\"1\" failures=\"0\" errors=\"1\" skipped=\"0\""));
  CHECK(has(case_of(text, "inspection"),
            "<error message=\"needs &lt;root&gt;\" type=\"permission\"/>"));
}
