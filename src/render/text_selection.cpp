// How a rule decided, as a section of its own: everything that it looked at, in its order, what it
// left aside and why, what opening the answer gives, and what another order of addresses would.
#include <algorithm>

#include "cudart_doctor/base/text.hpp"
#include "render/describe.hpp"
#include "render/names.hpp"
#include "render/text_writer.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kFirstSteps = 6;  // Of a long list, unless verbose.
constexpr std::size_t kLastSteps = 3;
constexpr std::size_t kMostMissing = 3;
constexpr std::size_t kWordColumn = 4;
constexpr std::size_t kReasonColumn = 14;

struct Line {
  std::string_view mark{};  ///< "1", "=>"
  std::string_view word{};
  Tone tone = Tone::plain;
};

void write_line(TextWriter& writer, const Line& line, std::string_view text) {
  const std::size_t gap = kReasonColumn - kWordColumn;
  writer.entry({.before = pad(line.mark, kWordColumn),
                .word = std::string(line.word),
                .tone = line.tone,
                .after = std::string(gap > line.word.size() ? gap - line.word.size() : 1, ' '),
                .hang = kReasonColumn},
               text);
}

Line line_of(StepVerdict verdict) {
  switch (verdict) {
    case StepVerdict::taken: return {.word = "taken", .tone = Tone::good};
    case StepVerdict::rejected: return {.word = "rejected", .tone = Tone::notice};
    case StepVerdict::noted: return {.word = "noted"};
  }
  return {};
}

/// "A, " where the path is a runtime of the list above.
std::string letter_of(const Report& report, const std::vector<std::string>& refs,
                      std::string_view path) {
  for (std::size_t i = 0; i < report.candidates.size(); ++i) {
    const Candidate& candidate = report.candidates[i];
    if (candidate.path == path && candidate.kind != RuntimeKind::static_copy) {
      return refs[i] + ", ";
    }
  }
  return {};
}

/// Mapped runtimes that an address-ordered rule does not come to, since it ends before them.
std::vector<std::string> not_reached(const Report& report, const Selection& selection,
                                     const std::vector<std::string>& refs) {
  std::vector<std::string> out;
  if (selection.stability == Stability::not_by_address) return out;
  for (std::size_t i = 0; i < report.candidates.size(); ++i) {
    const Candidate& candidate = report.candidates[i];
    if (!candidate.object || candidate.kind == RuntimeKind::static_copy) continue;
    // A step names a line of maps, which may carry the kernel's mark behind the path.
    const bool looked_at =
        std::any_of(selection.steps.begin(), selection.steps.end(),
                    [&](const Step& step) { return step.subject.starts_with(candidate.path); });
    if (!looked_at) out.push_back(refs[i] + ", " + escape_foreign(candidate.path));
  }
  return out;
}

void write_steps(TextWriter& writer, const Report& report, const Selection& selection) {
  const auto refs = candidate_refs(report);
  const std::size_t count = selection.steps.size();
  const bool all = writer.verbose() || count <= kFirstSteps + kLastSteps + 1;
  for (std::size_t i = 0; i < count; ++i) {
    if (!all && i == kFirstSteps) {
      i = count - kLastSteps;
      write_line(writer, {.word = "..."}, count_of(i - kFirstSteps, "more step") + ", all with -v");
    }
    const Step& step = selection.steps[i];
    Line line = line_of(step.verdict);
    const std::string number = std::to_string(i + 1);
    line.mark = number;
    write_line(writer, line,
               letter_of(report, refs, step.subject) + escape_foreign(step.subject) + ": " +
                   printable(step.reason));
  }
  if (count == 0) write_line(writer, {.word = "nothing"}, "was looked at");
  for (const std::string& runtime : not_reached(report, selection, refs)) {
    write_line(writer, {.word = "not seen"}, runtime + ": the rule ends before it");
  }
}

std::string missing_text(const Selection& selection, std::size_t most) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(most, selection.missing.size()); ++i) {
    names.push_back(escape_foreign(selection.missing[i]));
  }
  std::string out = join(names, ", ");
  if (names.size() < selection.missing.size()) {
    out += " and " + std::to_string(selection.missing.size() - names.size()) + " more";
  }
  return out + ", of " + count_of(selection.bound, "name") + " that it binds";
}

void write_result(TextWriter& writer, const Report& report, const Selection& selection) {
  const auto refs = candidate_refs(report);
  if (!selection.chosen_text.empty()) {
    const auto index = candidate_of(report, selection);
    std::string text = index ? refs[*index] + ", " : std::string();
    text += escape_foreign(selection.chosen_text);
    if (!selection.open_note.empty()) text += ": " + printable(selection.open_note);
    write_line(writer, {.mark = " =>", .word = "opens"}, text);
  } else if (!selection.open_note.empty()) {
    write_line(writer, {.mark = " =>", .word = "then"}, printable(selection.open_note));
  }
  if (!selection.missing.empty()) {
    const std::size_t most = writer.shown(selection.missing.size(), kMostMissing);
    write_line(writer, {.mark = " =>", .word = "lacks", .tone = Tone::bad},
               missing_text(selection, most));
  }
  if (!selection.error_text.empty()) {
    const std::string type =
        selection.error_type.empty() ? "" : escape_foreign(selection.error_type) + ": ";
    write_line(writer, {.mark = " =>", .word = "prints", .tone = Tone::bad},
               type + printable(selection.error_text));
  }
  switch (selection.stability) {
    case Stability::stable:
      write_line(writer, {.mark = " =>", .word = "stable"},
                 "another order of addresses gives the same answer");
      break;
    case Stability::order_dependent: {
      std::vector<std::string> others;
      for (const std::string& answer : selection.other_answers) {
        others.push_back(letter_of(report, refs, answer) + escape_foreign(answer));
      }
      write_line(writer, {.mark = " =>", .word = "unstable", .tone = Tone::notice},
                 others.empty() ? "another order of addresses gives another answer"
                                : "another order of addresses gives " + join(others, "; or "));
      break;
    }
    case Stability::not_by_address: break;
  }
}

void write_selection(TextWriter& writer, const Report& report, const Selection& selection) {
  writer.title("HOW " + selection_title(report, selection) + " CHOOSES (rule " +
               printable(selection.policy) + ")");
  const auto about = [&](std::string_view word, const std::string& text) {
    if (!text.empty()) write_line(writer, {.word = word}, printable(text));
  };
  about("here", selection.presence_note);
  about("releases", selection.vintage);
  about("source", selection.source);
  write_steps(writer, report, selection);
  write_result(writer, report, selection);
}

/// The rule that the leading finding follows from; else the one that the headline follows.
std::string leading_rule(const Report& report) {
  const bool led = leads_with_finding(report) && !report.findings.front().policy.empty();
  return led ? report.findings.front().policy : report.headline_policy;
}

}  // namespace

void write_selections(TextWriter& writer, const Report& report) {
  std::string wanted = writer.explain_selection();
  if (wanted.empty()) wanted = writer.verbose() ? std::string(kEveryRule) : std::string();
  if (wanted.empty()) return;
  if (wanted == kHeadlineRule) wanted = leading_rule(report);
  bool any = false;
  for (const Selection& selection : report.selections) {
    if (wanted != kEveryRule && selection.policy != wanted) continue;
    write_selection(writer, report, selection);
    any = true;
  }
  if (!any) writer.title("HOW no rule was followed here: nothing that any of them could look at");
}

}  // namespace cudart_doctor
