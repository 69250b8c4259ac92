// What holds of every text report: it fits the terminal, and colour is all that colour changes.
#include <algorithm>
#include <filesystem>
#include <regex>

#include "cudart_doctor/analyze/judge.hpp"
#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/collect/bundle.hpp"
#include "cudart_doctor/render/render.hpp"
#include "golden/all_cases.hpp"
#include "golden/recorded.hpp"
#include "support/catch.hpp"
#include "support/report_builder.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

namespace {

struct Named {
  std::string name;
  Report report;
};

void add_cases(std::vector<Named>& out) {
  for (const CaseRun& run : every_case_run()) {
    auto snapshot = make_snapshot(run);
    REQUIRE(snapshot);
    out.push_back({run.name, make_report(std::move(*snapshot), {})});
  }
}

void add_bundles(std::vector<Named>& out) {
  for (const auto& entry : std::filesystem::directory_iterator(GOLDEN_DIRECTORY)) {
    if (!entry.is_directory()) continue;
    auto snapshot = read_bundle(entry.path().string());
    REQUIRE(snapshot);
    out.push_back({entry.path().filename().string(), make_report(std::move(*snapshot), {})});
  }
}

void add_recordings(std::vector<Named>& out) {
  for (const std::string name : {"run_stub", "run_odd", "run_nothing"}) {
    const std::string bundle = name == "run_nothing" ? "" : GOLDEN_DIRECTORY "/stub_first";
    auto snapshot = with_recording(GOLDEN_DIRECTORY "/" + name + ".recording.json", bundle);
    REQUIRE(snapshot);
    out.push_back({name, make_report(std::move(*snapshot), {})});
  }
}

const std::vector<Named>& every_report() {
  static const std::vector<Named> all = [] {
    std::vector<Named> out;
    add_cases(out);
    add_bundles(out);
    add_recordings(out);
    return out;
  }();
  return all;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (const auto line : split(text, '\n')) lines.emplace_back(line);
  REQUIRE(lines.back().empty());  // The text ends with LF.
  lines.pop_back();
  return lines;
}

/// Code points; no case has a character that is two columns wide.
std::size_t columns(std::string_view line) {
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char letter) {
    return (static_cast<unsigned char>(letter) & 0xC0U) != 0x80;
  }));
}

/// `report` with `times` findings, allowances, runtimes, rules, ranks and gaps more, all long.
Report with_more(Report report, std::size_t times) {
  std::string words = "which is said at some length and with a number of words, ";
  for (int i = 0; i < 4; ++i) words += words;
  Finding finding;
  finding.id = "RT04";
  finding.slug = "lookalike-selected";
  finding.severity = Severity::critical;
  finding.headline = words;
  finding.effect = words;
  finding.evidence.assign(times, words);
  finding.fixes.assign(times, words);
  finding.no_help.assign(times, words);
  report.findings.insert(report.findings.begin(), times, finding);
  finding.allowed = words;
  report.findings.insert(report.findings.end(), times, finding);
  report.allowances.ended.assign(times, words);
  report.snapshot.self_notes.assign(times, words);
  report.snapshot.capture.unread.assign(times, words);
  report.snapshot.capture.notes.assign(times, words);
  report.snapshot.peers.resize(times);
  report.probe_verdict.sentence = words;
  report.probe_verdict.remedy = words;
  MechanismVerdict refused;
  refused.outcome = ProbeOutcome::does_not;
  refused.reason = words;
  refused.needed_by = words;
  report.probe_verdict.mechanisms.assign(times, refused);
  ProbeFacts& probe = report.snapshot.probe;
  probe.decision = times % 2 == 0 ? ProbeDecision::run : ProbeDecision::refused;
  probe.differences.assign(times, words);
  probe.runtimes.resize(times);
  for (ProbedRuntime& runtime : probe.runtimes) {
    runtime.skipped = words;
    runtime.exporter.output = words;
  }
  report.companions.resize(report.companions.size() + times);
  const std::size_t candidates = report.candidates.size();
  for (std::size_t i = 0; i < times; ++i) {
    LoadedObject object;
    object.paths = {"/opt/" + std::to_string(i) + "/libcudart.so.12"};
    Candidate candidate;
    candidate.path = object.path();
    candidate.kind = i % 2 == 0 ? RuntimeKind::shim : RuntimeKind::genuine;
    candidate.object = report.snapshot.objects.size();
    candidate.label = words;
    report.snapshot.objects.push_back(std::move(object));
    report.candidates.push_back(candidate);
    candidate.object.reset();
    report.candidates.push_back(candidate);
    candidate.kind = RuntimeKind::static_copy;
    report.candidates.push_back(candidate);
    Selection selection;
    selection.policy = "rule-" + std::to_string(i);
    selection.title = words;
    selection.consumer = "sglang";
    selection.presence = Presence::present;
    selection.outcome = Outcome::selected;
    selection.object = report.candidates[candidates].object;
    selection.error_text = words;
    report.selections.push_back(std::move(selection));
  }
  report.provenance.resize(report.candidates.size());
  return report;
}

/// To be copied whole: a word, or a path with all its blanks.
bool is_one_piece(std::string_view line) {
  const std::string_view text = trim(line);
  return text.find(' ') == std::string_view::npos || text.starts_with('/') ||
         text.starts_with("also /");
}

std::string without_colour(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\x1b') {
      at = text.find('m', at);
      REQUIRE(at != std::string::npos);
      continue;
    }
    out += text[at];
  }
  return out;
}

}  // namespace

TEST_CASE("every line fits the terminal, in whatever form the report is") {
  for (const auto& [name, report] : every_report()) {
    for (const std::size_t width : {std::size_t{80}, std::size_t{57}, kFewestColumns}) {
      for (const std::string_view rule : {std::string_view(), kEveryRule}) {
        const TextOptions options{.columns = width, .explain_selection = std::string(rule)};
        for (const auto& line : lines_of(render_text(report, options))) {
          INFO(name << " at " << width << ": " << line);
          CHECK(columns(line) <= width);
          CHECK_FALSE(line.ends_with(' '));
        }
      }
    }
  }
}

TEST_CASE("only what is to be copied is wider than the terminal in a verbose report") {
  std::size_t wide = 0;
  for (const auto& [name, report] : every_report()) {
    for (const auto& line : lines_of(render_text(report, {.verbose = true}))) {
      if (columns(line) <= 80) continue;
      INFO(name << ": " << line);
      CHECK(is_one_piece(line));
      ++wide;
    }
  }
  CHECK(wide > 0);
}

TEST_CASE("a report is one screen long") {
  for (const auto& [name, report] : every_report()) {
    INFO(name << ":\n" << render_text(report, {}));
    CHECK(lines_of(render_text(report, {})).size() <= 40);
  }
}

TEST_CASE("each runtime that a rule takes has its row") {
  const std::regex taken("^ .*  ([A-Z]{1,2})  +(ok|FAIL|opens|\\?).*");
  std::size_t letters = 0;
  for (const auto& [name, report] : every_report()) {
    const auto lines = lines_of(render_text(report, {}));
    auto line = std::ranges::find(lines, "WHO TAKES WHAT");
    for (; line != lines.end() && !line->starts_with("READ"); ++line) {
      std::smatch match;
      if (!std::regex_match(*line, match, taken)) continue;
      const std::string row = " " + match[1].str() + " ";
      INFO(name << ": " << *line);
      CHECK(std::ranges::any_of(lines, [&](const auto& each) { return each.starts_with(row); }));
      ++letters;
    }
  }
  CHECK(letters > 100);
}

TEST_CASE("a report is one screen long whatever its texts are") {
  for (const auto& [name, report] : testing::all_reports()) {
    const std::string text = render_text(report, {});
    INFO(name << ":\n" << text);
    CHECK(lines_of(text).size() <= 40);
  }
}

TEST_CASE("a report is one screen long however much there is to say") {
  // Each kind of report, and each number: of some things two fill the screen, of others forty.
  const std::vector<Named>& all = every_report();
  for (std::size_t i = 0; i < all.size(); i += 24) {
    for (const std::size_t times : {std::size_t{2}, std::size_t{5}, std::size_t{40}}) {
      const std::string text = render_text(with_more(all[i].report, times), {});
      INFO(all[i].name << " with " << times << " of everything:\n" << text);
      CHECK(lines_of(text).size() <= 40);
    }
  }
}

TEST_CASE("the steps of a rule leave nothing of the report out") {
  for (const auto& [name, report] : every_report()) {
    const auto plain = lines_of(render_text(report, {}));
    const auto steps =
        lines_of(render_text(report, {.explain_selection = std::string(kEveryRule)}));
    INFO(name);
    for (const std::string& line : plain) CHECK(std::ranges::find(steps, line) != steps.end());
  }
}

TEST_CASE("without its colours a coloured report is the plain one") {
  for (const auto& [name, report] : every_report()) {
    INFO(name);
    for (const bool verbose : {false, true}) {
      const std::string coloured = render_text(report, {.color = Color::on, .verbose = verbose});
      CHECK(coloured.find("\x1b[") != std::string::npos);
      CHECK(without_colour(coloured) == render_text(report, {.verbose = verbose}));
    }
  }
}
