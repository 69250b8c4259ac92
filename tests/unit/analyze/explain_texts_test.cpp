// The table of symptoms against error texts as they stand in public reports (explain_texts.tsv).
#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#include "cudart_doctor/analyze/cuda_codes.hpp"
#include "cudart_doctor/analyze/explain_log.hpp"
#include "cudart_doctor/base/text.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;

namespace {

struct Row {
  std::string report;
  std::string symptom;
  std::string findings;
  std::string text;
};

std::vector<Row> rows() {
  std::ifstream file(EXPLAIN_TEXTS);
  std::vector<Row> out;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    const auto fields = split(line, '\t');
    REQUIRE(fields.size() == 4);
    out.push_back({std::string(fields[0]), std::string(fields[1]), std::string(fields[2]),
                   std::string(fields[3])});
  }
  REQUIRE(out.size() > 100);
  return out;
}

LogAnswer read(std::string_view text) {
  LogReader reader;
  reader.feed(text);
  return reader.finish();
}

std::string name_of(const Symptom& symptom) {
  return symptom.signature != nullptr ? std::string(symptom.signature->id)
                                      : std::to_string(symptom.code->code);
}

std::string findings_of(const Symptom& symptom) {
  std::vector<std::string> ids;
  for (const Cause& cause :
       symptom.signature != nullptr ? symptom.signature->causes : symptom.code->causes) {
    if (!cause.finding.empty()) ids.emplace_back(cause.finding);
  }
  return ids.empty() ? "-" : join(ids, " ");
}

}  // namespace

TEST_CASE("a reported error text is recognised as one symptom, with its causes") {
  for (const Row& row : rows()) {
    if (row.report == "-") continue;
    INFO(row.report << ": " << row.text);
    const LogAnswer answer = read(row.text);
    REQUIRE(answer.symptoms.size() == 1);
    CHECK(name_of(answer.symptoms[0]) == row.symptom);
    CHECK(findings_of(answer.symptoms[0]) == row.findings);
    CHECK(answer.symptoms[0].text == row.text);
  }
}

TEST_CASE("an innocent line that looks similar is not recognised") {
  for (const Row& row : rows()) {
    if (row.report != "-") continue;
    INFO(row.text);
    const LogAnswer answer = read(row.text);
    CHECK(answer.symptoms.empty());
  }
}

TEST_CASE("every reported symptom that has an error text is covered") {
  // Reports without a text of their own: what was seen is slowness, a hang, a wrong choice.
  const std::set<std::string> silent = {"R13", "R18", "R19", "R20", "R21", "R22",
                                        "R23", "R29", "R35", "R38", "R49"};
  std::set<std::string> covered;
  for (const Row& row : rows()) covered.insert(row.report);
  for (int number = 1; number <= 65; ++number) {
    const std::string report = (number < 10 ? "R0" : "R") + std::to_string(number);
    INFO(report);
    CHECK(covered.contains(report) != silent.contains(report));
  }
}

TEST_CASE("every symptom of the table is recognised in some reported text") {
  std::set<std::string> recognised;
  for (const Row& row : rows()) recognised.insert(row.symptom);
  for (const Signature& signature : signatures()) {
    INFO(signature.id);
    CHECK(recognised.contains(std::string(signature.id)));
  }
}

TEST_CASE("every pattern of the table is recognised as its symptom or a more specific one") {
  std::size_t place = 0;
  for (const Signature& signature : signatures()) {
    for (const std::string_view pattern : signature.patterns) {
      if (pattern.empty()) continue;
      std::string text;
      for (const char letter : pattern) {
        if (letter == '*') text += " some text ";
        if (letter != '*' && letter != '|') text += letter;
      }
      INFO(signature.id << ": " << pattern);
      const LogAnswer answer = read(text);
      REQUIRE(answer.symptoms.size() == 1);
      REQUIRE(answer.symptoms[0].signature != nullptr);
      const auto found = static_cast<std::size_t>(answer.symptoms[0].signature - &signatures()[0]);
      CHECK(found <= place);
    }
    ++place;
  }
}

TEST_CASE("every code of the table is recognised by number and by both of its names") {
  for (const CodeEntry& entry : code_entries()) {
    INFO(entry.code);
    for (const std::string& text : {"CUDA error " + std::to_string(entry.code) + ": x",
                                    std::string(cuda_runtime_code_name(entry.code)),
                                    std::string(cuda_driver_code_name(entry.code)),
                                    "CUDA error: " + std::string(entry.text)}) {
      if (text.empty()) continue;  // 35 and 98 are the runtime's alone.
      INFO(text);
      const LogAnswer answer = read(text);
      REQUIRE(answer.symptoms.size() == 1);
      REQUIRE(answer.symptoms[0].code != nullptr);
      CHECK(answer.symptoms[0].code->code == entry.code);
    }
  }
}

TEST_CASE("symptom names are unique, codes ascend, and every finding is one of the catalogue") {
  std::set<std::string_view> ids;
  const auto check = [&](const Causes& causes) {
    CHECK_FALSE(causes.front().text.empty());
    for (const Cause& cause : causes) {
      INFO(cause.finding);
      CHECK((cause.finding.empty() || find_entry(cause.finding) != nullptr));
    }
  };
  for (const Signature& signature : signatures()) {
    INFO(signature.id);
    CHECK(ids.insert(signature.id).second);
    check(signature.causes);
  }
  CHECK(std::ranges::is_sorted(code_entries(), {}, &CodeEntry::code));
  for (const CodeEntry& entry : code_entries()) check(entry.causes);
}
