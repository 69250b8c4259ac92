// What holds of every text report: it fits the terminal, and colour is all that colour changes.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cases/case_snapshot.hpp"
#include "cudart_doctor/analyze/judge.hpp"
#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/collect/bundle.hpp"
#include "cudart_doctor/render/render.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

namespace {

struct Named {
  std::string name;
  Report report;
};

void add_cases(std::vector<Named>& out) {
  for (const auto& entry : std::filesystem::directory_iterator(CASES_DIRECTORY)) {
    if (entry.path().extension() != ".case") continue;
    std::ifstream stream(entry.path(), std::ios::binary);
    std::ostringstream text;
    text << stream.rdbuf();
    const auto runs = parse_case(text.str(), entry.path().string());
    REQUIRE(runs);
    for (const CaseRun& run : *runs) {
      auto snapshot = make_snapshot(run);
      REQUIRE(snapshot);
      out.push_back({run.name, make_report(std::move(*snapshot), {})});
    }
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

const std::vector<Named>& every_report() {
  static const std::vector<Named> all = [] {
    std::vector<Named> out;
    add_cases(out);
    add_bundles(out);
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
