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

TEST_CASE("labels go on after Z") {
  CHECK(digest_label(0) == "A");
  CHECK(digest_label(25) == "Z");
  CHECK(digest_label(26) == "AA");
  CHECK(digest_label(63) == "BL");
}

}  // namespace
}  // namespace cudart_doctor
