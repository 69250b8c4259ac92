// The answer in one line, for readers that take no more: verdict and code first, then as much of
// the sentence as fits.
#include <algorithm>
#include <array>

#include "cudart_doctor/analyze/timeline.hpp"
#include "cudart_doctor/base/text.hpp"
#include "render/describe.hpp"
#include "render/names.hpp"
#include "render/run_phrases.hpp"
#include "render/text_writer.hpp"
#include "render/view.hpp"

namespace cudart_doctor {
namespace {

// Node-problem-detector cuts at bytes (its examples: 80), wherever that is in a character.
constexpr std::size_t kMaxBytes = 80;

/// `text` (printable) in `room` bytes, cut between words where that leaves at least half.
std::string shortened(std::string_view text, std::size_t room) {
  if (text.size() <= room) return std::string(text);
  // No character has more columns than bytes, so that this ends; most have one of both.
  std::size_t columns = room;
  std::string cut = cut_end(text, columns);
  while (cut.size() > room) cut = cut_end(text, --columns);
  const std::size_t blank = cut.rfind(' ');
  if (blank != std::string::npos && blank >= room / 2) return cut.substr(0, blank) + " ...";
  return cut;
}

std::string_view nagios_word(RunEnd end) {
  switch (end) {
    case RunEnd::ok: return "OK";
    case RunEnd::warned: return "WARNING";
    case RunEnd::findings: return "CRITICAL";
    case RunEnd::usage:
    case RunEnd::undecided: return "UNKNOWN";
  }
  return {};
}

/// A bar begins the performance data, and no escape for it is known.
std::string without_bars(std::string_view text) {
  std::string out;
  for (const char each : text) {
    if (each == '|') {
      out += "\\x7c";
    } else {
      out += each;
    }
  }
  return out;
}

struct Line {
  std::string word;      ///< "CRITICAL"
  std::string code;      ///< "RT04"; "" for none.
  std::string sentence;  ///< Printable, without an end.
  std::string who;       ///< " (pid 4121)"
};

std::string put_together(const Line& line, ExitStyle style) {
  const bool nagios = style == ExitStyle::nagios;
  std::string head = nagios ? "CUDART " + line.word + " - " : line.word + " ";
  if (!line.code.empty()) head += line.code + " ";
  const std::string sentence = nagios ? without_bars(line.sentence) : line.sentence;
  return head + shortened(sentence, kMaxBytes - head.size() - line.who.size()) + line.who;
}

std::string without_stop(std::string sentence) {
  if (sentence.ends_with('.')) sentence.pop_back();
  return sentence;
}

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
    line.sentence = finding_sentence(report, kMaxBytes - std::min(used, kMaxBytes));
  } else {
    line.word = verdict_view(report).word;
    line.sentence = calm_sentence(report);
  }
  if (report.verdict.exit_style == ExitStyle::nagios) line.word = nagios_word(report.verdict.end);
  return line;
}

/// "critical=1;;;0 error=0;;;0 ...": counts to draw; thresholds are --fail-on's business.
std::string performance_data(const Report& report) {
  constexpr std::array kOrder = {Severity::critical, Severity::error, Severity::warning,
                                 Severity::info};
  std::string out;
  const std::size_t counted = count_counted(report);
  for (const Severity severity : kOrder) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < counted; ++i) {
      if (report.findings[i].severity == severity) ++count;
    }
    out.append(name_of(severity)).append("=" + std::to_string(count) + ";;;0 ");
  }
  return out + "allowed=" + std::to_string(report.findings.size() - counted) + ";;;0";
}

}  // namespace

std::string render_line(const Report& report) {
  const ExitStyle style = report.verdict.exit_style;
  std::string line = put_together(line_of(report), style);
  // Where nothing was decided a zero would be a claim.
  if (style == ExitStyle::nagios && report.verdict.end != RunEnd::undecided) {
    line += " | " + performance_data(report);
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
