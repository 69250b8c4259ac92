// A JUnit suite for CI systems: a case for each finding of the catalogue, and one for the
// inspection itself. Failure: the finding stands. Skipped: allowed, or what would show it was not
// seen. Error: the doctor could not do its work. Only what all readers of the format share.
#include <algorithm>
#include <array>

#include "cudart_doctor/analyze/catalogue.hpp"
#include "cudart_doctor/analyze/explain.hpp"
#include "cudart_doctor/analyze/timeline.hpp"
#include "cudart_doctor/base/text.hpp"
#include "render/describe.hpp"
#include "render/names.hpp"
#include "render/render_parts.hpp"
#include "render/run_phrases.hpp"
#include "render/text_writer.hpp"

namespace cudart_doctor {
namespace {

constexpr std::string_view kHead = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

/// `text` (printable) as content of an element or an attribute.
std::string xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string attribute(std::string_view name, std::string_view value) {
  return std::string(" ").append(name).append("=\"").append(xml(value)).append("\"");
}

enum class CaseResult : std::uint8_t { pass, failure, error, skipped };

struct TestCase {
  std::string name;
  std::string classname;
  CaseResult result = CaseResult::pass;
  std::string message{};  ///< Of a failure, an error, a skip.
  std::string type{};     ///< Of a failure: its severity; of an error: its kind.
  std::string text{};     ///< The evidence.
};

std::string with_text(const std::string& begin, std::string_view element, std::string_view text) {
  if (text.empty()) return begin + "/>\n";
  return begin + ">" + xml(text) + "</" + std::string(element) + ">\n";
}

std::string written(const TestCase& each) {
  // Nothing is measured case by case, but not every reader can do without a time.
  std::string head = "    <testcase" + attribute("name", each.name) +
                     attribute("classname", each.classname) + attribute("time", "0");
  std::string inner;
  switch (each.result) {
    case CaseResult::pass:
      if (!each.text.empty()) inner = with_text("      <system-out", "system-out", each.text);
      break;
    case CaseResult::failure:
      inner = with_text(
          "      <failure" + attribute("message", each.message) + attribute("type", each.type),
          "failure", each.text);
      break;
    case CaseResult::error:
      inner = with_text(
          "      <error" + attribute("message", each.message) + attribute("type", each.type),
          "error", each.text);
      break;
    case CaseResult::skipped:
      inner = "      <skipped" + attribute("message", each.message) + "/>\n";
      if (!each.text.empty()) inner += with_text("      <system-out", "system-out", each.text);
      break;
  }
  return inner.empty() ? head + "/>\n" : head + ">\n" + inner + "    </testcase>\n";
}

struct Suite {
  std::string name;
  std::string attributes;  ///< Further ones, written.
  std::string properties;  ///< The element, written; may be empty.
  std::vector<TestCase> cases;
};

std::string document(const Suite& suite) {
  const auto count = [&suite](CaseResult result) {
    return std::to_string(std::ranges::count(suite.cases, result, &TestCase::result));
  };
  const std::string totals = attribute("tests", std::to_string(suite.cases.size())) +
                             attribute("failures", count(CaseResult::failure)) +
                             attribute("errors", count(CaseResult::error)) +
                             attribute("skipped", count(CaseResult::skipped)) +
                             attribute("time", "0");
  std::string out = std::string(kHead) + "<testsuites" + attribute("name", "cudart-doctor") +
                    totals + ">\n  <testsuite" + attribute("name", suite.name) + totals +
                    suite.attributes + ">\n" + suite.properties;
  for (const TestCase& each : suite.cases) out += written(each);
  return out + "  </testsuite>\n</testsuites>\n";
}

std::string class_of(std::string_view id) {
  struct Family {
    std::string_view prefix;
    std::string_view name;
  };
  constexpr std::array kFamilies = {Family{"RT", "runtimes"}, Family{"MP", "mappings"},
                                    Family{"DR", "driver"}, Family{"IP", "sharing"},
                                    Family{"SY", "symbols"}};
  for (const Family& family : kFamilies) {
    if (id.starts_with(family.prefix)) return "cudart-doctor." + std::string(family.name);
  }
  return "cudart-doctor";
}

/// The findings of one id, as plain text: with their severities, an empty line between two.
std::string all_lines(const std::vector<const Finding*>& findings) {
  std::string out;
  for (const Finding* finding : findings) {
    if (!out.empty()) out += "\n\n";
    out += severity_word(finding->severity) + " " + finding_lines(*finding);
    if (!finding->allowed.empty()) out += "\nALLOWED " + printable(finding->allowed);
  }
  return out;
}

void judge_case(TestCase& each, const std::vector<const Finding*>& findings, Severity fail_on) {
  const Finding& gravest = *findings.front();
  each.text = all_lines(findings);
  if (!gravest.allowed.empty()) {
    each.result = CaseResult::skipped;
    each.message = "allowed: " + printable(gravest.allowed);
  } else if (gravest.severity >= fail_on) {
    each.result = CaseResult::failure;
    each.message = printable(gravest.headline);
    each.type = name_of(gravest.severity);
  }
}

TestCase case_of(const CatalogueEntry& entry, const Report& report) {
  TestCase each{.name = std::string(entry.id) + " " + std::string(entry.slug),
                .classname = class_of(entry.id)};
  std::vector<const Finding*> findings;
  for (const Finding& finding : report.findings) {
    if (finding.id == entry.id) findings.push_back(&finding);
  }
  if (!findings.empty()) {
    judge_case(each, findings, report.verdict.fail_on);
    return each;
  }
  Standing standing = standing_of(entry.id, report);
  if (standing.kind != StandingKind::not_found) {
    each.result = CaseResult::skipped;
    each.message = "not seen: " + printable(standing.reason);
  }
  return each;
}

TestCase inspection_case(const Report& report) {
  TestCase each{.name = "inspection", .classname = "cudart-doctor"};
  if (!report.verdict.undecided.empty()) {
    each.result = CaseResult::error;
    each.message = printable(report.verdict.undecided);
    each.type = name_of(RunEnd::undecided);
  }
  for (const std::string& ended : report.allowances.ended) {
    each.text += (each.text.empty() ? "" : "\n") + printable(ended);
  }
  return each;
}

std::string property(std::string_view name, std::string_view value) {
  return "      <property" + attribute("name", name) + attribute("value", value) + "/>\n";
}

std::string properties_of(const Report& report) {
  std::string out = "    <properties>\n" + property("cudart-doctor", CUDART_DOCTOR_VERSION);
  if (const Recording* recording = report.snapshot.recording.get()) {
    out += property("command", command_title(*recording));
    if (report.timeline.story) out += property("story", story_text(report));
  }
  if (!report.snapshot.environment_only && !nobody_judged(report.snapshot)) {
    out += property("process", process_title(report.snapshot.process));
  }
  out += property("answer", headline_sentence(report));
  const std::vector<std::string> refs = candidate_refs(report);
  for (std::size_t i = 0; i < report.candidates.size(); ++i) {
    const Candidate& candidate = report.candidates[i];
    if (!candidate.loaded || candidate.kind == RuntimeKind::static_copy) continue;
    out += property("runtime " + refs[i],
                    candidate_phrase(candidate) + ", " + escape_foreign(candidate.path));
  }
  const Recording* const recording = report.snapshot.recording.get();
  if (recording == nullptr) {
    out += property("exit code", std::to_string(report.verdict.exit_code));
  } else {
    out += property("verdict", exit_reason(report));
    if (recording->end == ProcessEnd::exited) {
      out += property("command exit code", std::to_string(recording->status));
    } else if (recording->end == ProcessEnd::signalled) {
      out += property("command signal", std::to_string(recording->status));
    }
  }
  return out + "    </properties>\n";
}

std::string suite_name(const Snapshot& snapshot) {
  if (snapshot.environment_only) return "cudart-doctor environment";
  if (nobody_judged(snapshot)) return "cudart-doctor command";
  return "cudart-doctor pid " + std::to_string(snapshot.process.pid);
}

std::string suite_attributes(const Snapshot& snapshot) {
  std::string out;
  // The format's own times have no zone.
  std::string time = printable(snapshot.capture.taken_at);
  if (time.ends_with('Z')) time.pop_back();
  if (!time.empty()) out += attribute("timestamp", time);
  if (!snapshot.host.name.empty()) out += attribute("hostname", escape_foreign(snapshot.host.name));
  return out;
}

}  // namespace

std::string render_junit(const Report& report) {
  Suite suite{.name = suite_name(report.snapshot),
              .attributes = suite_attributes(report.snapshot),
              .properties = properties_of(report),
              .cases = {inspection_case(report)}};
  for (const CatalogueEntry& entry : catalogue()) suite.cases.push_back(case_of(entry, report));
  return document(suite);
}

std::string render_error_junit(const Failure& failure) {
  return document({.name = "cudart-doctor",
                   .attributes = {},
                   .properties = {},
                   .cases = {{.name = "inspection",
                              .classname = "cudart-doctor",
                              .result = CaseResult::error,
                              .message = printable(failure.error.message),
                              .type = std::string(name_of(failure.error.kind))}}});
}

}  // namespace cudart_doctor
