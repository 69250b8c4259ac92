// Reports through their JSON to a comparison and its text.
#include "cudart_doctor/analyze/diff.hpp"

#include <nlohmann/json.hpp>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/formats/report_json.hpp"
#include "cudart_doctor/render/diff.hpp"
#include "render/style.hpp"
#include "support/catch.hpp"
#include "support/report_builder.hpp"

namespace cudart_doctor {
namespace {

ReportDigest digest_of(const Report& report, const std::string& name) {
  auto digest = parse_report(render_json(report));
  REQUIRE(digest.has_value());
  digest->name = name;
  return *digest;
}

std::vector<ReportDigest> all_digests() {
  std::vector<ReportDigest> out;
  for (const auto& [name, report] : testing::all_reports()) out.push_back(digest_of(report, name));
  return out;
}

/// Whether `key` of a change is what docs/diff.md says of `side`.
bool side_is(const nlohmann::json& change, const std::string& key,
             const std::optional<Attribute>& side) {
  const bool unknown = side && !side->known;
  return change.at(key).is_null() == (unknown || !side) &&
         change.at(key + "_reason").is_null() != unknown;
}

TEST_CASE("every report can be read back, and does not differ from itself") {
  for (const ReportDigest& digest : all_digests()) {
    INFO(digest.name);
    CHECK(differences(digest, digest).empty());
    CHECK(compare({digest, digest}).equal());
  }
}

/// The same, with something else under each "steps".
void replace_steps(nlohmann::json& value, const nlohmann::json& by) {
  if (value.is_object() && value.contains("steps")) value["steps"] = by;
  for (auto& each : value) {
    if (each.is_structured()) replace_steps(each, by);
  }
}

TEST_CASE("the steps of an answer are no part of what is compared, whatever they are") {
  const std::string text = render_json(testing::critical_report());
  const auto expected = parse_report(text);
  REQUIRE(expected.has_value());
  for (const char* steps : {"[]", "null", "7", "\"text\"", R"({"runtimes": [[1], {"a": 2}]})"}) {
    nlohmann::json document = nlohmann::json::parse(text);
    replace_steps(document, nlohmann::json::parse(steps));
    INFO(steps);
    REQUIRE(document.dump() != nlohmann::json::parse(text).dump());
    const auto digest = parse_report(document.dump());
    REQUIRE(digest.has_value());
    CHECK(canonical_text(*digest) == canonical_text(*expected));
  }
}

TEST_CASE("reports differ exactly where their canonical texts do") {
  const auto all = all_digests();
  for (const ReportDigest& one : all) {
    for (const ReportDigest& two : all) {
      INFO(one.name << " and " << two.name);
      CHECK(differences(one, two).empty() == (canonical_text(one) == canonical_text(two)));
    }
  }
}

TEST_CASE("the text fits 80 columns and steers no terminal") {
  const auto all = all_digests();
  for (const ReportDigest& one : all) {
    for (const ReportDigest& two : all) {
      const std::string text = render_diff_text(compare({one, two}), {});
      for (const std::string_view line : split(text, '\n')) {
        INFO(line);
        CHECK(display_width(line) <= kColumns);
        CHECK(printable(line) == line);
      }
    }
  }
}

TEST_CASE("equal reports take one line") {
  const auto report = digest_of(testing::critical_report(), "a");
  const std::string text = render_diff_text(compare({report, report, report}), {});
  CHECK(text.find('\n') == text.size() - 1);
  CHECK(text.starts_with("No difference between 3 reports: "));
}

TEST_CASE("the first line says which is worse") {
  const auto good = digest_of(testing::healthy_report(), "good");
  const auto bad = digest_of(testing::critical_report(), "bad");
  CHECK(
      render_diff_text(compare({good, bad}), {}).starts_with("B differs from A: worse, critical"));
  CHECK(render_diff_text(compare({bad, good}), {}).starts_with("B differs from A: better, "));
  CHECK(render_diff_text(compare({good, bad, good}), {}).starts_with("2 of 3 agree; B (bad, pid "));
}

TEST_CASE(
    "the JSON of a comparison holds every change that was found, with what is not known as null "
    "and why") {
  const auto all = all_digests();
  for (const ReportDigest& one : all) {
    for (const ReportDigest& two : all) {
      const Comparison comparison = compare({one, two});
      const auto document = nlohmann::json::parse(render_diff_json(comparison, 7));
      INFO(one.name << " and " << two.name);
      CHECK(document["exit_code"] == 7);
      CHECK(document["equal"] == document["differences"].empty());
      CHECK(document["reports"].size() == 2);
      REQUIRE(document["differences"].size() == comparison.pairs.size());
      for (std::size_t pair = 0; pair < comparison.pairs.size(); ++pair) {
        const auto& changes = document["differences"][pair]["changes"];
        REQUIRE(changes.size() == comparison.pairs[pair].changes.size());
        for (std::size_t i = 0; i < changes.size(); ++i) {
          const Change& change = comparison.pairs[pair].changes[i];
          CHECK(side_is(changes[i], "before", change.before));
          CHECK(side_is(changes[i], "after", change.after));
        }
      }
    }
  }
}

TEST_CASE("the JSON of a comparison says what kind each change is") {
  ReportDigest one;
  ReportDigest two;
  Comparison comparison;
  comparison.reports = {one, two};
  DigestPair pair;
  pair.second = 1;
  for (const ChangeKind kind :
       {ChangeKind::added, ChangeKind::removed, ChangeKind::changed, ChangeKind::not_compared}) {
    Change change;
    change.kind = kind;
    pair.changes.push_back(change);
  }
  comparison.pairs = {pair};
  const auto document = nlohmann::json::parse(render_diff_json(comparison, 1));
  std::vector<std::string> kinds;
  for (const auto& change : document["differences"][0]["changes"]) kinds.push_back(change["kind"]);
  CHECK(kinds == std::vector<std::string>{"added", "removed", "changed", "not_compared"});
  CHECK(document["differences"][0]["from"] == "A");
  CHECK(document["differences"][0]["to"] == "B");
}

/// A report whose only trait is a variable.
ReportDigest with_variable(const std::string& value, const std::string& version = "1") {
  ReportDigest out;
  out.name = value + ".json";
  out.title = "pid 7 serve";
  out.tool_version = version;
  out.sentence = "All is well.";
  out.traits.push_back(
      {Area::environment, {"RANK", "RANK", "RANK"}, "RANK", {{"value", value, true}}});
  return out;
}

std::string text_of(std::vector<ReportDigest> digests, const TextOptions& options = {}) {
  return render_diff_text(compare(std::move(digests)), options);
}

TEST_CASE("where no report has a majority it is told what alone separates them") {
  const Comparison comparison =
      compare({with_variable("0"), with_variable("1"), with_variable("2")});
  const std::string text = render_diff_text(comparison, {});
  INFO(text);
  CHECK(text.starts_with("3 reports, 3 different ones, no majority\n"));
  CHECK(text.find("HINT     only environment:RANK separates them: --ignore environment:RANK") !=
        std::string::npos);
  const auto document = nlohmann::json::parse(render_diff_json(comparison, 1));
  CHECK(document["hint"]["ignore"] == nlohmann::json::array({"environment:RANK"}));
  CHECK(document["hint"]["reports"] == nlohmann::json::array({"A", "B", "C"}));
}

TEST_CASE("of many reports the first ones are named, all of them with -v") {
  std::vector<ReportDigest> all(20, with_variable("0"));
  for (int i = 0; i < 9; ++i) all.push_back(with_variable(i < 8 ? "1" : "2"));
  const std::string text = text_of(all);
  INFO(text);
  CHECK(text.starts_with("20 of 29 agree; U, V, W, X and 5 more differ"));
  CHECK(text.find("and 16 more of them with -v") != std::string::npos);
  CHECK(text.find("U, V, W, X, Y, Z, AA, AB differ from A, B, C, D and 16 more: ") !=
        std::string::npos);
  CHECK(text.find("AC differs from A, B, C, D and 16 more: ") != std::string::npos);
  CHECK(text_of(all, {.verbose = true}).find("more of them with -v") == std::string::npos);
}

TEST_CASE("reports of different versions of the program, and an --ignore without use, are noted") {
  Comparison comparison = compare({with_variable("0", "1"), with_variable("1", "2")});
  comparison.unused = {"probe"};
  const std::string text = render_diff_text(comparison, {});
  INFO(text);
  CHECK(text.find("the reports are of different versions of this program") != std::string::npos);
  CHECK(text.find("--ignore probe: in none of the reports") != std::string::npos);
  CHECK(text_of({with_variable("0"), with_variable("1")}).find("different versions") ==
        std::string::npos);
}

TEST_CASE("what a report could not see is noted, all of it") {
  ReportDigest blind = with_variable("0");
  blind.blind = {"3 objects could not be read", "the list of mappings was cut"};
  blind.unread = {{Area::driver, "no rights", true}, {Area::loads, "not recorded", true}};
  const std::string text = text_of({blind, with_variable("1")});
  INFO(text);
  CHECK(text.find("A: 3 objects could not be read, the list of mappings was cut; what") !=
        std::string::npos);
  CHECK(text.find("A: driver not known (no rights)") != std::string::npos);
  CHECK(text.find("A: loads not compared (not recorded)") != std::string::npos);
}

TEST_CASE("labels go on after Z") {
  CHECK(digest_label(0) == "A");
  CHECK(digest_label(25) == "Z");
  CHECK(digest_label(26) == "AA");
  CHECK(digest_label(63) == "BL");
}

}  // namespace
}  // namespace cudart_doctor
