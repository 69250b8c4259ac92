// The report as a block to paste into an issue: the answer first, tables for what there is, and
// what was not seen.
#include <algorithm>

#include "cudart_doctor/analyze/timeline.hpp"
#include "cudart_doctor/base/text.hpp"
#include "render/describe.hpp"
#include "render/markdown_text.hpp"
#include "render/names.hpp"
#include "render/phrases.hpp"
#include "render/run_phrases.hpp"
#include "render/view.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kMaxBlock = 60'000;  // An issue tracker takes some 64 KiB.
constexpr std::size_t kMaxFindings = 12;
constexpr std::size_t kMaxRuntimes = 24;
constexpr std::size_t kMaxItems = 12;  // Facts, fixes, what was not seen.

using Cells = std::vector<std::string>;

class Markdown {
 public:
  void line(std::string_view text) { out_.append(text).append("\n"); }
  void heading(std::string_view text) { out_.append("\n### ").append(text).append("\n\n"); }
  void item(std::string_view label, std::string_view text) {
    out_.append("- **").append(label).append(":** ").append(text).append("\n");
  }
  /// Under the item before it.
  void list(const std::vector<std::string>& sentences, std::string_view sign) {
    const std::size_t shown = std::min(sentences.size(), kMaxItems);
    for (std::size_t i = 0; i < shown; ++i) {
      out_.append("  ").append(sign).append(" ").append(markdown_sentence(printable(sentences[i])));
      out_ += '\n';
    }
    if (shown < sentences.size()) {
      out_ += "  " + std::string(sign) + " " + std::to_string(sentences.size() - shown) + " more\n";
    }
  }
  void row(const Cells& cells) {
    out_ += '|';
    // An empty cell is one; none at all would end the row.
    for (const auto& cell : cells) out_.append(" ").append(cell).append(" |");
    out_ += '\n';
  }
  void table(const Cells& heads) {
    row(heads);
    row(Cells(heads.size(), "---"));
  }
  [[nodiscard]] std::string take() {
    if (out_.size() <= kMaxBlock) return std::move(out_);
    // Every line is closed in itself.
    out_.resize(out_.rfind('\n', kMaxBlock) + 1);
    out_ += "\nCut here: the report is longer than an issue may be.\n";
    return std::move(out_);
  }

 private:
  std::string out_;
};

void write_list(Markdown& out, std::string_view label, const std::vector<std::string>& sentences,
                std::string_view sign) {
  if (sentences.empty()) return;
  if (sentences.size() == 1) return out.item(label, markdown_sentence(printable(sentences[0])));
  out.line("- **" + std::string(label) + ":**");
  out.list(sentences, sign);
}

void write_finding(Markdown& out, const Finding& finding) {
  if (!finding.effect.empty()) out.item("Effect", markdown_sentence(printable(finding.effect)));
  out.item("Owner", owner_advice(finding.owner));
  if (!finding.allowed.empty()) out.item("Allowed", markdown_sentence(printable(finding.allowed)));
  write_list(out, "Seen", finding.evidence, "-");
  write_list(out, "Fix", finding.fixes, "1.");
  write_list(out, "No help", finding.no_help, "-");
}

void write_head(Markdown& out, const Report& report) {
  const VerdictView verdict = verdict_view(report);
  out.line("## " + verdict.word + (verdict.id.empty() ? "" : " " + markdown_sentence(verdict.id)) +
           ": " + markdown_sentence(headline_sentence(report)));
  out.line("");
  if (report.snapshot.environment_only) {
    out.item("Target", "environment only: no program was started");
  } else if (!nobody_judged(report.snapshot)) {
    out.item("Target", "pid " + std::to_string(report.snapshot.process.pid) + " " +
                           markdown_code(process_title(report.snapshot.process)));
  }
  if (!report.snapshot.host.name.empty()) {
    out.item("Node", markdown_code(escape_foreign(report.snapshot.host.name)));
  }
  if (leads_with_finding(report)) write_finding(out, report.findings.front());
  write_list(out, "Allowance ended", report.allowances.ended, "-");
  write_list(out, "Loaded for this look", report.snapshot.self_notes, "-");
  const Recording* recording = report.snapshot.recording.get();
  if (recording == nullptr) return;
  if (report.timeline.story) {
    out.item("Story", markdown_sentence(story_text(report)));
  }
  out.item("Run", markdown_sentence(run_sentence(report, *recording)));
  write_list(out, "Other processes", other_processes(report, *recording), "-");
}

void write_findings(Markdown& out, const Report& report) {
  const std::size_t first = leads_with_finding(report) ? 1 : 0;
  if (first >= report.findings.size()) return;
  out.heading(first == 0 ? "Findings" : "Also");
  out.table({"Finding", "What", "Fix"});
  const std::size_t end = std::min(report.findings.size(), first + kMaxFindings);
  for (std::size_t i = first; i < end; ++i) {
    const Finding& finding = report.findings[i];
    std::string what = markdown_sentence(printable(finding.headline));
    if (!finding.allowed.empty()) {
      what += " Allowed: " + markdown_sentence(printable(finding.allowed));
    }
    out.row(
        {std::string(name_of(finding.severity)) + " " + markdown_sentence(printable(finding.id)),
         what, finding.fixes.empty() ? "" : markdown_sentence(printable(finding.fixes.front()))});
  }
  if (end < report.findings.size()) {
    out.line("");
    out.line(count_of(report.findings.size() - end, "more finding"));
  }
}

void write_runtimes(Markdown& out, const Report& report) {
  out.heading("Runtimes in address order");
  if (report.candidates.empty()) return out.line("None was found.");
  const auto refs = candidate_refs(report);
  out.table({"", "Kind", "Address", "Path", "What is known"});
  std::size_t rows = 0;
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < report.candidates.size(); ++i) {
    const Candidate& candidate = report.candidates[i];
    if (candidate.kind == RuntimeKind::static_copy) continue;
    if (++rows > kMaxRuntimes) {
      ++left_out;
      continue;
    }
    const LoadedObject* object = object_of(report, candidate.object);
    out.row({refs[i], std::string(mark_of(candidate.kind).word),
             object != nullptr ? markdown_code(hex(object->lowest)) : "not mapped",
             markdown_code(escape_foreign(candidate.path)),
             markdown_sentence(candidate_details(report, i, Detail::brief))});
  }
  const std::string copies = static_copies_text(report, Detail::brief);
  if (left_out != 0 || !copies.empty()) out.line("");
  if (left_out != 0) out.line(count_of(left_out, "more runtime"));
  if (!copies.empty()) out.line(markdown_sentence(copies));
}

void write_loads(Markdown& out, const Report& report) {
  const Recording* recording = report.snapshot.recording.get();
  const auto rows = recording == nullptr ? std::vector<LoadRow>{} : load_rows(report, *recording);
  if (rows.empty()) return;
  out.heading("Loads by time since the start");
  out.table({"Time", "", "Kind", "File", "How"});
  for (std::size_t i = 0; i < std::min(rows.size(), kMaxRuntimes); ++i) {
    out.row({rows[i].time, rows[i].ref, std::string(rows[i].mark.word), markdown_code(rows[i].name),
             markdown_sentence(rows[i].how)});
  }
  if (rows.size() > kMaxRuntimes) {
    out.line("");
    out.line(count_of(rows.size() - kMaxRuntimes, "more load"));
  }
}

void write_answers(Markdown& out, const Report& report) {
  const auto told = telling_selections(report);
  if (told.empty()) return;
  const auto refs = candidate_refs(report);
  out.heading("Who takes what");
  out.table({"Consumer", "Takes", "Result"});
  for (const Selection* selection : told) {
    const AnswerRow row = answer_row(report, *selection, refs);
    out.row({markdown_sentence(row.title), row.where, markdown_sentence(row.result + row.why)});
  }
  if (told.size() < report.selections.size()) {
    out.line("");
    out.line(count_of(report.selections.size() - told.size(), "other rule") + " not shown.");
  }
}

void write_probe(Markdown& out, const Report& report) {
  const ProbeVerdict& verdict = report.probe_verdict;
  if (verdict.sentence.empty()) return;
  out.heading("Probe");
  out.line(markdown_sentence(printable(verdict.sentence)));
  if (report.snapshot.probe.decision != ProbeDecision::run) return;
  out.line("");
  if (!verdict.remedy.empty()) out.item("Fix", markdown_sentence(printable(verdict.remedy)));
  write_list(out, "Differs", report.snapshot.probe.differences, "-");
  out.line("");
  out.table({"Sharing", "Result", "For what, and why"});
  for (const MechanismVerdict& each : verdict.mechanisms) {
    out.row({std::string(title_of(each.mechanism)), std::string(sharing_mark(each).word),
             markdown_sentence(sharing_text(each))});
  }
}

void write_limits(Markdown& out, const Report& report) {
  const auto lines = unseen(report, Detail::brief);
  if (!lines.empty()) {
    out.heading("Not seen");
    for (std::size_t i = 0; i < std::min(lines.size(), kMaxItems); ++i) {
      out.line("- " + markdown_sentence(lines[i]));
    }
    if (lines.size() > kMaxItems)
      out.line("- " + std::to_string(lines.size() - kMaxItems) + " more");
  }
  out.line("");
  // A command that was recorded ends with its own code.
  const std::string label = report.snapshot.recording.is_known()
                                ? "Verdict"
                                : "Exit " + std::to_string(report.verdict.exit_code);
  out.line("Read: " + markdown_sentence(read_text(report)) + ". " + label + ": " +
           markdown_sentence(exit_reason(report)) + ".");
}

}  // namespace

std::string render_markdown(const Report& report) {
  Markdown out;
  write_head(out, report);
  if (nobody_judged(report.snapshot)) {
    write_loads(out, report);
    write_limits(out, report);
    return out.take();
  }
  write_findings(out, report);
  write_runtimes(out, report);
  std::vector<std::string> companions = companion_lines(report, Detail::brief);
  if (!companions.empty()) {
    out.line("");
    write_list(out, "Driver and companions", companions, "-");
  }
  write_loads(out, report);
  write_answers(out, report);
  write_probe(out, report);
  write_limits(out, report);
  return out.take();
}

}  // namespace cudart_doctor
