// The answer in one line, for readers that take no more: verdict and code first, then as much of
// the sentence as fits.
#include <algorithm>
#include <cstddef>

#include "cudart_doctor/analyze/timeline.hpp"
#include "cudart_doctor/base/text.hpp"
#include "render/describe.hpp"
#include "render/line_parts.hpp"
#include "render/names.hpp"
#include "render/phrases.hpp"
#include "render/run_phrases.hpp"
#include "render/text_writer.hpp"
#include "render/view.hpp"

namespace cudart_doctor {
namespace {

/// Each consumer that is there and takes the candidate, once, by its name alone.
std::vector<std::string> takers_of(const Report& report, std::size_t candidate) {
  std::vector<std::string> out;
  for (const Selection& selection : report.selections) {
    const bool takes = selection.presence == Presence::present && !selection.consumer.empty() &&
                       candidate_of(report, selection) == candidate;
    if (!takes) continue;
    const auto consumer = std::ranges::find(report.consumers, selection.consumer, &Consumer::id);
    if (consumer == report.consumers.end()) continue;
    std::string name = printable(consumer->name);
    if (std::ranges::find(out, name) == out.end()) out.push_back(std::move(name));
  }
  return out;
}

/// The headline; where many take a look-alike, and its name would be cut away, that name first.
std::string finding_sentence(const Report& report, std::size_t room) {
  const Finding& finding = report.findings.front();
  const std::string sentence = without_stop(printable(finding.headline));
  const std::string cut = shortened(sentence, room);
  for (std::size_t i = 0; i < report.candidates.size(); ++i) {
    const RuntimeKind kind = report.candidates[i].kind;
    const bool look_alike = kind == RuntimeKind::stub || kind == RuntimeKind::shim ||
                            kind == RuntimeKind::stand_in || kind == RuntimeKind::not_a_runtime;
    const std::string name = escape_foreign(base_name(report.candidates[i].path));
    const bool lost =
        sentence.find(name) != std::string::npos && cut.find(name) == std::string::npos;
    if (!look_alike || !lost) continue;
    const auto takers = takers_of(report, i);
    if (!takers.empty()) return name + " taken by " + join(takers, ", ");
  }
  return sentence;
}

std::string calm_sentence(const Report& report) {
  if (const Recording* recording = report.snapshot.recording.get()) {
    const std::string trouble = trouble_sentence(*recording);
    if (!trouble.empty()) return without_stop(trouble);
  }
  if (nobody_judged(report.snapshot)) return without_stop(headline_sentence(report));
  std::vector<std::string> ids;
  for (std::size_t i = count_counted(report); i < report.findings.size(); ++i) {
    const std::string& id = report.findings[i].id;
    if (ids.empty() || ids.back() != id) ids.push_back(printable(id));
  }
  std::string out = count_counted(report) == 0 ? std::string("no finding")
                                               : count_of(count_counted(report), "info finding");
  if (report.snapshot.probe.decision == ProbeDecision::refused) out += "; not tested on a GPU";
  if (!ids.empty()) out += "; allowed: " + join(ids, ", ");
  // A server's ranks are such ones.
  if (unseen_children(report.snapshot) != 0) {
    out += "; " + std::to_string(unseen_children(report.snapshot)) + " below not looked at";
  }
  return out;
}

std::string who_of(const Snapshot& snapshot) {
  if (snapshot.environment_only) return " (environment)";
  if (nobody_judged(snapshot)) return " (command)";
  return " (pid " + std::to_string(snapshot.process.pid) + ")";
}

Line line_of(const Report& report) {
  Line line;
  line.who = who_of(report.snapshot);
  if (report.verdict.end == RunEnd::undecided) {
    line.word = "UNKNOWN";
    line.sentence = without_stop(printable(report.verdict.undecided));
  } else if (leads_with_finding(report)) {
    const Finding& finding = report.findings.front();
    line.word = severity_word(finding.severity);
    line.code = printable(finding.id);
    constexpr std::size_t kBlanks = 2;
    const std::size_t used = line.word.size() + line.code.size() + line.who.size() + kBlanks;
    line.sentence = finding_sentence(report, kMaxLineBytes - std::min(used, kMaxLineBytes));
  } else {
    line.word = verdict_view(report).word;
    line.sentence = calm_sentence(report);
  }
  if (report.verdict.exit_style == ExitStyle::nagios) line.word = nagios_word(report.verdict.end);
  return line;
}

std::size_t count_of_severity(const Report& report, Severity severity) {
  const auto end = report.findings.begin() + std::ptrdiff_t(count_counted(report));
  return static_cast<std::size_t>(
      std::count_if(report.findings.begin(), end,
                    [severity](const Finding& each) { return each.severity == severity; }));
}

}  // namespace

std::string render_line(const Report& report) {
  const ExitStyle style = report.verdict.exit_style;
  std::string line = put_together(line_of(report), style);
  // Where nothing was decided a zero would be a claim.
  if (style == ExitStyle::nagios && report.verdict.end != RunEnd::undecided) {
    line += " | " +
            performance_data([&](Severity severity) { return count_of_severity(report, severity); },
                             report.findings.size() - count_counted(report));
  }
  return line + "\n";
}

std::string render_error_line(const Failure& failure) {
  return put_together({.word = "UNKNOWN",
                       .code = {},
                       .sentence = without_stop(printable(failure.error.message)),
                       .who = {}},
                      failure.exit_style) +
         "\n";
}

}  // namespace cudart_doctor
