// Workflow commands: one a line, and nothing foreign begins another.
#include <algorithm>
#include <string>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/render/render.hpp"
#include "support/catch.hpp"
#include "support/report_builder.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::testing;

TEST_CASE("every finding that counts is one annotation, an error where it fails the run") {
  Report report = critical_report();
  report.findings.push_back(report.findings.back());
  report.findings.back().severity = Severity::info;
  const std::string text = render_github(report);
  const auto lines = split(text, '\n');
  REQUIRE(lines.size() == 4);
  CHECK(lines[0] ==
        "::error title=RT04 lookalike-selected::FlashInfer would take TileLang's stub for the CUDA "
        "runtime.%0AEFFECT once bound: fused and custom all-reduce off until restart%0ASEEN the "
        "stub is mapped below the genuine runtime and lacks cudaDeviceReset%0AFIX tilelang >= "
        "0.1.12, or FlashInfer with #5198%0AFIX restart all ranks%0ANO HELP VLLM_CUDART_SO_PATH: "
        "not read by this consumer");
  CHECK(lines[1].starts_with("::warning title=RT07 selection-order-dependent::"));
  CHECK(lines[2].starts_with("::notice title=RT07 "));
}

TEST_CASE("a warning is an error where --fail-on says so") {
  Report report = critical_report();
  report.verdict.fail_on = Severity::warning;
  CHECK(render_github(report).find("::warning") == std::string::npos);
}

TEST_CASE("what is allowed is not annotated, what is undecided is") {
  Report report = critical_report();
  for (Finding& finding : report.findings) finding.allowed = "--allow X";
  CHECK(render_github(report).empty());
  CHECK(render_github(healthy_report()).empty());
  CHECK(render_github(unreadable_report())
            .starts_with("::error title=cudart-doctor%3A could not decide::the mapped "));
}

TEST_CASE("a foreign text ends no command and begins none") {
  for (const std::string& text : nasty_texts()) {
    const std::string commands = render_github(hostile_report(text));
    for (const std::string_view line : split(std::string_view(commands), '\n')) {
      if (!line.empty()) CHECK(line.starts_with("::error title="));
    }
    CHECK(std::ranges::count(commands, '\r') == 0);
  }
  CHECK(render_error_github({{ErrorKind::gone, "100% gone\n::error::x", 0}, {}, 3}) ==
        "::error title=cudart-doctor%3A no report::100%25 gone\\n::error::x\n");
}
