// The head of the text report: the answer, what it means, whose it is, what to do; then the rest
// in the order in which an operator asks.
#include "cudart_doctor/base/text.hpp"

#include <algorithm>
#include <array>

#include "render/describe.hpp"
#include "render/names.hpp"
#include "render/phrases.hpp"
#include "render/text_writer.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kMaxHost = 24;     // Columns of the host name in the first line.
constexpr std::size_t kMaxEvidence = 2;  // Facts of the headline's finding, unless verbose.
constexpr std::size_t kMaxFurther = 5;   // Further findings, unless verbose.

}  // namespace

std::string_view owner_advice(Owner owner) {
  switch (owner) {
    case Owner::node: return "node, not image: draining it may be right";
    case Owner::image: return "image, not node: do not drain";
    case Owner::user: return "launch settings, not node: do not drain";
  }
  return {};
}

namespace {

void write_first_line(TextWriter& writer, const Report& report, Color color) {
  std::string word = "OK";
  Tone tone = Tone::good;
  std::string after;
  if (report.verdict.exit_code == 3) {
    word = "UNDECIDED";
    tone = Tone::notice;
  } else if (leads_with_finding(report)) {
    const Finding& finding = report.findings.front();
    word = severity_word(finding.severity);
    tone = tone_of(finding.severity);
    after = " " + printable(finding.id);
  }
  const std::string& host = report.snapshot.host.name;
  const std::string node =
      host.empty() ? "" : "  node " + cut_middle(escape_foreign(host), kMaxHost);
  std::string who = "environment only: no program was started";
  if (!report.snapshot.environment_only) {
    who = "pid " + std::to_string(report.snapshot.process.pid) + " " +
          process_title(report.snapshot.process);
  }
  const std::size_t used = word.size() + display_width(after) + 2 + display_width(node);
  who = cut_end(trim(who), kColumns > used ? kColumns - used : 0);
  writer.line(paint(word, tone, color) + after + "  " + who + node);
}

void write_numbered(TextWriter& writer, std::string_view label,
                    const std::vector<std::string>& items) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string number = items.size() > 1 ? std::to_string(i + 1) + " " : "";
    const Lead lead{.before = pad(i == 0 ? label : "", kTextColumn) + number,
                    .hang = kTextColumn + number.size()};
    writer.entry(lead, printable(items[i]));
  }
}

void write_list(TextWriter& writer, std::string_view label, const std::vector<std::string>& items,
                std::size_t max_items) {
  const std::size_t shown = writer.verbose() ? items.size() : std::min(max_items, items.size());
  for (std::size_t i = 0; i < shown; ++i) {
    writer.labelled(i == 0 ? label : "", printable(items[i]), 3);
  }
  if (shown < items.size()) {
    writer.labelled("", std::to_string(items.size() - shown) + " more with -v");
  }
}

void write_main_finding(TextWriter& writer, const Finding& finding) {
  if (!finding.effect.empty()) writer.labelled("EFFECT", printable(finding.effect));
  writer.labelled("OWNER", owner_advice(finding.owner));
  write_list(writer, "SEEN", finding.evidence, kMaxEvidence);
  write_numbered(writer, "FIX", finding.fixes);
  write_list(writer, "NO HELP", finding.no_help, finding.no_help.size());
}

void write_short_finding(TextWriter& writer, const Finding& finding) {
  const Lead lead{.before = " ",
                  .word = severity_word(finding.severity),
                  .tone = tone_of(finding.severity),
                  .after = " " + printable(finding.id) + "  "};
  writer.entry(lead, printable(finding.headline));
  if (writer.verbose()) {
    if (!finding.effect.empty()) writer.labelled("", "effect: " + printable(finding.effect));
    for (const auto& fact : finding.evidence) writer.labelled("", "seen: " + printable(fact));
  }
  const std::size_t fixes = writer.verbose() ? finding.fixes.size() : 1;
  for (std::size_t i = 0; i < std::min(fixes, finding.fixes.size()); ++i) {
    writer.entry({.before = std::string(kTextColumn, ' ') + "FIX ", .hang = kTextColumn + 4},
                 printable(finding.fixes[i]), 3);
  }
}

void write_further_findings(TextWriter& writer, const Report& report) {
  const std::size_t first = leads_with_finding(report) ? 1 : 0;
  const std::size_t count = report.findings.size();
  if (first >= count) return;
  writer.line(first == 0 ? "FINDINGS" : "ALSO");
  const std::size_t end = writer.verbose() ? count : std::min(count, first + kMaxFurther);
  for (std::size_t i = first; i < end; ++i) write_short_finding(writer, report.findings[i]);
  if (end < count) {
    writer.entry({.before = " ", .hang = 1}, count_of(count - end, "more finding") + " with -v");
  }
}

}  // namespace

std::string exit_reason(const Report& report) {
  if (report.verdict.exit_code == 3) return "could not decide";
  constexpr std::array kOrder = {Severity::critical, Severity::error, Severity::warning,
                                 Severity::info};
  std::vector<std::string> counts;
  for (const Severity severity : kOrder) {
    const auto count = static_cast<std::uint64_t>(
        std::count_if(report.findings.begin(), report.findings.end(),
                      [&](const Finding& finding) { return finding.severity == severity; }));
    if (count == 0) continue;
    // "2 warnings", "2 errors", but "2 critical", "2 info".
    const bool countable = severity == Severity::error || severity == Severity::warning;
    counts.push_back(countable ? count_of(count, name_of(severity))
                               : count_of(count, name_of(severity), name_of(severity)));
  }
  if (counts.empty()) return "no finding";
  const auto grave = std::count_if(
      report.findings.begin(), report.findings.end(),
      [&](const Finding& finding) { return finding.severity >= report.verdict.fail_on; });
  return join(counts, ", ") + "; " + (grave == 0 ? "none" : std::to_string(grave)) +
         " at or above --fail-on " + std::string(name_of(report.verdict.fail_on));
}

std::string render_text(const Report& report, const TextOptions& options) {
  TextWriter writer(options);
  write_first_line(writer, report, options.color);
  writer.entry({.hang = 0}, headline_sentence(report));
  // "OK" says what was found; that nothing was run must not be missed.
  if (report.snapshot.probe.decision == ProbeDecision::refused) {
    writer.entry({.hang = 0}, "Not tested on a GPU: see PROBE below.");
  }
  if (leads_with_finding(report)) write_main_finding(writer, report.findings.front());
  write_list(writer, "LOADED", report.snapshot.self_notes, 3);
  writer.blank();
  write_further_findings(writer, report);
  write_runtimes(writer, report);
  write_companions(writer, report);
  write_answers(writer, report);
  write_probe(writer, report);
  write_peers(writer, report);
  write_unseen(writer, report);
  write_read(writer, report);
  writer.labelled("EXIT " + std::to_string(report.verdict.exit_code), exit_reason(report));
  return writer.take();
}

}  // namespace cudart_doctor
