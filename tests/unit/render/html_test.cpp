#include <algorithm>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/render/render.hpp"
#include "render/html_graph.hpp"
#include "render/html_writer.hpp"
#include "support/catch.hpp"
#include "support/report_builder.hpp"
#include "support/report_parts.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::testing;

namespace {

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

const GraphRow& row_named(const Graph& graph, std::string_view label) {
  const auto found = std::find_if(graph.rows.begin(), graph.rows.end(),
                                  [&](const GraphRow& row) { return row.label == label; });
  REQUIRE(found != graph.rows.end());
  return *found;
}

/// `count` runtimes, each needed by `count` objects of its own.
Report wide_report(std::size_t count) {
  Report report = base_report();
  for (std::size_t i = 0; i < count; ++i) {
    add_runtime(report, RuntimeKind::genuine, "/r" + std::to_string(i) + "/libcudart.so.12",
                0x7f1a00000000 + i * 0x1000000);
    report.provenance.emplace_back();
    for (std::size_t user = 0; user < count; ++user) {
      const std::size_t object =
          add_object(report, "/u/lib" + std::to_string(i) + "_" + std::to_string(user) + ".so",
                     0x7f2a00000000 + (i * count + user) * 0x1000);
      report.provenance.back().needed_by.push_back({object, "libcudart.so.12"});
    }
    add_selection(report, "p" + std::to_string(i), "consumer " + std::to_string(i), i).presence =
        Presence::present;
  }
  return report;
}

}  // namespace

TEST_CASE("report text is nothing but text in a page") {
  const std::string attack = "<script>alert(1)</script>\" onload='x' &amp;";
  CHECK(html_escaped(attack) ==
        "&lt;script&gt;alert(1)&lt;/script&gt;&quot; onload=&#39;x&#39; &amp;amp;");
  const std::string page = render_html(hostile_report(attack));
  CHECK_FALSE(contains(page, "<script"));
  CHECK_FALSE(contains(page, "' &amp;"));
  CHECK(contains(page, "&lt;script&gt;"));
}

TEST_CASE("paths and libraries stand as code, the marks around them do not") {
  CHECK(html_sentence("(/opt/x.so), a/b") == "(<code>/<wbr>opt/<wbr>x.so</code>), a/<wbr>b");
  CHECK(html_sentence("takes libcudart.so.12.") == "takes <code>libcudart.so.12</code>.");
  CHECK(html_sentence(" (\" ).") == " (&quot; ).");
  CHECK(html_sentence("") == "");
}

TEST_CASE("a page asks for nothing and runs nothing") {
  for (const auto& [name, report] : all_reports()) {
    INFO(name);
    const std::string page = render_html(report);
    CHECK(contains(page, "content=\"default-src 'none'; style-src 'unsafe-inline'\""));
    for (const char* part : {"<script", "<link", "<img", "<iframe", " src=", "url(", "@import",
                             "http:", "https:", "javascript:", "<base", "<form"}) {
      INFO(part);
      CHECK_FALSE(contains(page, part));
    }
  }
}

TEST_CASE("foreign bytes reach no page raw, and the same report gives the same page") {
  for (const auto& [name, report] : all_reports()) {
    INFO(name);
    for (const std::string& page : {render_html(report), render_markdown(report)}) {
      CHECK(std::none_of(page.begin(), page.end(), [](char letter) {
        const auto byte = static_cast<unsigned char>(letter);
        return (byte < 0x20 && byte != '\n') || byte == 0x7f;
      }));
      CHECK_FALSE(contains(page, "\xe2\x80\xae"));
    }
    CHECK(render_html(report) == render_html(Report(report)));
    CHECK(render_markdown(report) == render_markdown(Report(report)));
  }
}

TEST_CASE("a page begins with the verdict and ends with what was not seen and the environment") {
  const std::string page = render_html(critical_report());
  std::size_t at = 0;
  for (const char* part : {"<title>CRITICAL RT04: pid 4121 sglang::scheduler_TP0</title>",
                           "CRITICAL RT04</p>", "<h1>FlashInfer would take", ">Effect<", ">Owner<",
                           ">Fix<", ">Who loads what<", ">Who takes what<", ">Also<",
                           ">Runtimes in address order<", ">What was not seen<", ">Environment<"}) {
    INFO(part);
    at = page.find(part, at);
    REQUIRE(at != std::string::npos);
  }
}

TEST_CASE("of many facts the first are in sight, and none is lost") {
  Report report = critical_report();
  report.findings[0].evidence = {"one", "two", "three", "four", "five"};
  CHECK(contains(render_html(report),
                 "<ul><li>one</li><li>two</li><li>three</li></ul><details><summary>2 more</summary>"
                 "<ul><li>four</li><li>five</li></ul></details>"));
}

TEST_CASE("secrets are in no page") {
  for (const std::string& page :
       {render_html(healthy_report()), render_markdown(healthy_report())}) {
    CHECK_FALSE(contains(page, "s3cr3t"));
  }
}

TEST_CASE("an allowance that ended is told in every format for people") {
  const Report report = allowed_report();
  REQUIRE_FALSE(report.allowances.ended.empty());
  CHECK(contains(render_html(report), "<dt>Allowance ended</dt>"));
  CHECK(contains(render_markdown(report), "**Allowance ended:**"));
  CHECK(
      contains(render_github(report), "::notice title=cudart-doctor%3A an allowance has ended::"));
}

TEST_CASE("the picture marks a runtime whose file was deleted or replaced") {
  const std::string page = render_html(crowded_report());
  CHECK(contains(page, "<tspan class=\"state\">REPLACED</tspan>"));
  CHECK(contains(page, "<tspan class=\"state\">DELETED</tspan>"));
}

TEST_CASE("an allowed finding says so on a page") {
  Report report = critical_report();
  report.findings[1].allowed = "--allow RT07 until 2027-01-31";
  CHECK(contains(render_html(report), "<dt>Allowed</dt><dd>--allow RT07 until 2027-01-31</dd>"));
  CHECK(contains(render_markdown(report), "Allowed: `--allow` RT07 until 2027-01-31"));
}

TEST_CASE("the picture ties a consumer to what it takes, and marks a failure by more than colour") {
  const Graph graph = graph_of(critical_report());
  REQUIRE(graph.lanes.size() == 2);
  const GraphRow& failing = row_named(graph, "FlashInfer 0.6.14");
  REQUIRE(failing.ties.size() == 2);
  CHECK(failing.ties[0].lane == 0);
  CHECK(failing.ties[0].kind == TieKind::fails);
  CHECK(failing.ties[1].lane == 1);
  CHECK(failing.ties[1].kind == TieKind::luck);
  CHECK(failing.mark.word == "FAIL");
  CHECK(row_named(graph, "SGLang 0.5.9").ties.at(0).kind == TieKind::takes);
  const std::string page = render_html(critical_report());
  CHECK(contains(page, "class=\"cross bad\""));
  CHECK(contains(page, "class=\"tag bad\">FAIL</text>"));
  CHECK(contains(page, "FlashInfer 0.6.14: A FAIL undefined symbol: cudaDeviceReset"));
  CHECK_FALSE(contains(render_html(healthy_report()), "class=\"cross bad\""));
}

TEST_CASE("the picture shows who needs a runtime, and whose function pointers lead there") {
  Report report = critical_report();
  const Graph by_soname = graph_of(report);
  CHECK(row_named(by_soname, "libtorch_cuda.so").ties.at(0).kind == TieKind::needs);
  report.provenance.resize(report.candidates.size());
  report.provenance[0].used_by = {{2, {"cudaMalloc"}}};
  report.provenance[1].needed_by = {{2, "libcudart.so.12"}};
  const Graph by_slots = graph_of(report);
  const auto& ties = row_named(by_slots, "libtorch_cuda.so").ties;
  REQUIRE(ties.size() == 2);
  CHECK(ties[0].kind == TieKind::uses);
  CHECK(ties[1].kind == TieKind::needs);
}

TEST_CASE("the picture stays small, says how many are left out, and crowds nobody out") {
  for (const std::size_t count : {std::size_t{1}, std::size_t{3}, std::size_t{20}}) {
    const Graph graph = graph_of(wide_report(count));
    CHECK(graph.lanes.size() == std::min(count, kMaxLanes));
    CHECK(graph.rows.size() <= kMaxLanes + kMaxGraphObjects + kMaxGraphConsumers + 6);
    if (count > 1) {
      // One object of each runtime at least.
      for (std::size_t lane = 0; lane < graph.lanes.size(); ++lane) {
        CHECK(std::any_of(graph.rows.begin(), graph.rows.end(), [&](const GraphRow& row) {
          return row.kind == GraphRow::Kind::object && row.ties.at(0).lane == lane;
        }));
      }
    }
  }
  const Graph graph = graph_of(wide_report(20));
  CHECK(row_named(graph, "and 12 more runtimes").kind == GraphRow::Kind::note);
  CHECK(row_named(graph, "and 6 more consumers").kind == GraphRow::Kind::note);
  CHECK(row_named(graph, "and 146 more objects").kind == GraphRow::Kind::note);
}

TEST_CASE("without a runtime there is no picture, and the page says so in words") {
  const std::string page = render_html(empty_report());
  CHECK_FALSE(contains(page, "<svg"));
  CHECK(contains(page, "None that could be selected was found."));
}
