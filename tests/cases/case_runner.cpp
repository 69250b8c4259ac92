// case_runner [--reports FOLDER] FILE...: runs test cases through the real pipeline. Prints one
// line for each failed expectation and `N passed, N failed` last; exits 1 when one failed or a file
// is no case. With --reports the reports are written there too, in every format for programs.
#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>

#include "case_snapshot.hpp"
#include "cudart_doctor/analyze/catalogue.hpp"
#include "cudart_doctor/analyze/judge.hpp"
#include "cudart_doctor/analyze/policy.hpp"
#include "cudart_doctor/analyze/rules.hpp"
#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/collect/anonymize.hpp"
#include "cudart_doctor/render/render.hpp"
#include "support/report_files.hpp"

namespace cudart_doctor::test {
namespace {

// The one place that lists what is not yet supported: findings that the catalogue does not hold
// are recognised by their absence there, rules by this list.
constexpr std::array<std::string_view, 4> kUnsupportedRules{
    "libcuda-by-cudart", "libcuda-unversioned", "ldconfig-list", "maps-last-token"};

struct Tally {
  std::string reports;  ///< Folder for the reports; "" for none.
  int cases = 0;
  int passed = 0;
  int failed = 0;
  int unsupported = 0;
};

std::string_view severity_word(Severity severity) {
  constexpr std::array<std::string_view, 4> kWords{"info", "warning", "error", "critical"};
  return kWords[static_cast<std::size_t>(severity)];
}

std::string path_of(const Report& report, const Selection& selection) {
  if (selection.object) return report.snapshot.objects[*selection.object].path();
  return selection.disk_path.value_or(selection.chosen_text);
}

/// The answer in the words of the case format.
std::string answer_of(const Report& report, const Selection& selection) {
  switch (selection.outcome) {
    case Outcome::selected:
      return selection.open == OpenOutcome::fails ? "FAIL:open" : path_of(report, selection);
    case Outcome::none: return "NONE";
    case Outcome::unexpected_filename: return "FAIL:unexpected-filename";
    case Outcome::not_found: return "FAIL:not-found";
    case Outcome::multiple: return "FAIL:multiple";
    case Outcome::no_path: return "no-path";
    case Outcome::aborts: return "aborts";
    case Outcome::undetermined: return "undetermined";
    case Outcome::not_applicable: return "not-applicable";
  }
  return {};
}

/// A path that leads to the same file as the answer is the same answer (links).
bool same_target(const Report& report, const Selection& selection, const std::string& wanted) {
  const auto entry = report.snapshot.disk.find(wanted);
  if (!selection.object || entry == report.snapshot.disk.end()) return false;
  return entry->second.kind == DiskKind::file &&
         entry->second.key == report.snapshot.objects[*selection.object].key;
}

/// Empty when the expectation holds, else what was there instead.
std::string check_select(const Report& report, const Expectation& wanted) {
  const Policy* policy = find_policy(wanted.subject);
  if (policy == nullptr) return "no such rule";
  const auto found =
      std::find_if(report.selections.begin(), report.selections.end(),
                   [&](const Selection& selection) { return selection.policy == policy->id; });
  if (found == report.selections.end()) return "the rule gave no answer";
  const std::string answer = answer_of(report, *found);
  if (answer == wanted.value || same_target(report, *found, wanted.value)) return {};
  return answer;
}

std::string worst_of(const Report& report, const std::string& id) {
  for (const Finding& finding : report.findings) {  // gravest first
    if (finding.id == id) return std::string(severity_word(finding.severity));
  }
  return "absent";
}

std::string check(const Report& report, const Expectation& wanted) {
  switch (wanted.kind) {
    case Expectation::Kind::runtimes: {
      const auto count = distinct_runtimes(report.snapshot, report.candidates).size();
      return std::to_string(count) == wanted.value ? std::string() : std::to_string(count);
    }
    case Expectation::Kind::select: return check_select(report, wanted);
    case Expectation::Kind::find: {
      const std::string worst = worst_of(report, wanted.subject);
      return worst == wanted.value ? std::string() : worst;
    }
    case Expectation::Kind::absent: {
      const std::string worst = worst_of(report, wanted.subject);
      return worst == "absent" ? std::string() : worst;
    }
  }
  return {};
}

bool is_supported(const Expectation& wanted) {
  switch (wanted.kind) {
    case Expectation::Kind::runtimes: return true;
    case Expectation::Kind::select:
      return std::find(kUnsupportedRules.begin(), kUnsupportedRules.end(), wanted.subject) ==
             kUnsupportedRules.end();
    case Expectation::Kind::find:
    case Expectation::Kind::absent: return find_entry(wanted.subject) != nullptr;
  }
  return false;
}

JudgeOptions judging(const CaseRun& run) {
  JudgeOptions options;
  options.profiles = run.facts.profiles;
  return options;
}

/// Without names a report must say the same: their stand-ins decide nothing. Empty when it does.
std::string check_anonymized(const CaseRun& run, const Snapshot& snapshot, const Report& report) {
  const Report nameless = make_report(anonymized(snapshot), judging(run));
  const auto said = [](const Report& each) {
    std::string out;
    for (const Finding& finding : each.findings) {
      out.append(finding.id).append(" ").append(severity_word(finding.severity)).append("; ");
    }
    return out;
  };
  return said(nameless) == said(report) ? std::string() : "without names: " + said(nameless);
}

/// Every format has something to say of every case.
std::string check_formats(const Report& report) {
  const bool all = !render_text(report, {}).empty() && !render_json(report).empty() &&
                   render_markdown(report).starts_with("## ") &&
                   render_html(report).ends_with("</html>\n");
  return all ? std::string() : "a format is cut";
}

void run_case(const CaseRun& run, Tally& tally) {
  auto snapshot = make_snapshot(run);
  if (!snapshot) {
    std::cout << run.name << ": " << snapshot.error().message << "\n";
    ++tally.failed;
    return;
  }
  const Report report = make_report(*snapshot, judging(run));
  for (const std::string& wrong :
       {check_anonymized(run, *snapshot, report), check_formats(report)}) {
    if (wrong.empty()) continue;
    ++tally.failed;
    std::cout << run.name << ": FAILED: " << wrong << "\n";
  }
  ++tally.cases;
  if (!tally.reports.empty()) {
    testing::write_formats(tally.reports + "/case-" + std::to_string(tally.cases), report);
  }
  for (const Expectation& wanted : run.expectations) {
    if (!is_supported(wanted)) {
      ++tally.unsupported;
      std::cout << run.name << ": not yet supported: " << escape_foreign(wanted.line) << "\n";
      continue;
    }
    const std::string instead = check(report, wanted);
    if (instead.empty()) {
      ++tally.passed;
      continue;
    }
    ++tally.failed;
    std::cout << run.name << ": FAILED: " << escape_foreign(wanted.line) << " (got "
              << escape_foreign(instead) << ")\n";
  }
}

void run_file(const std::string& path, Tally& tally) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) {
    std::cout << escape_foreign(path) << ": cannot be read\n";
    ++tally.failed;
    return;
  }
  const auto runs = parse_case(text.str(), path);
  if (!runs) {
    std::cout << escape_foreign(path) << ": " << runs.error().message << "\n";
    ++tally.failed;
    return;
  }
  for (const CaseRun& run : *runs) run_case(run, tally);
}

}  // namespace
}  // namespace cudart_doctor::test

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: case_runner [--reports FOLDER] FILE...\n";
    return 2;
  }
  cudart_doctor::test::Tally tally;
  int first = 1;
  if (argc > 3 && std::string_view(argv[1]) == "--reports") {
    tally.reports = argv[2];
    first = 3;
  }
  for (int i = first; i < argc; ++i) cudart_doctor::test::run_file(argv[i], tally);
  if (tally.unsupported > 0) {
    std::cout << cudart_doctor::count_of(static_cast<std::uint64_t>(tally.unsupported),
                                         "expectation")
              << " not yet supported\n";
  }
  std::cout << tally.passed << " passed, " << tally.failed << " failed\n";
  return tally.failed == 0 && tally.passed > 0 ? 0 : 1;
}
