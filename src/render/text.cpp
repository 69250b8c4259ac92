// The text report: the answer, what it means, whose it is, what to do; then the rest in the order
// in which an operator asks. On one screen, unless more was asked for.
#include "cudart_doctor/base/text.hpp"

#include <algorithm>

#include "cudart_doctor/analyze/timeline.hpp"
#include "render/describe.hpp"
#include "render/names.hpp"
#include "render/phrases.hpp"
#include "render/text_writer.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kScreen = 40;  // Lines that a report should not exceed, unless verbose.

// From everything that is worth a line to what an answer cannot do without. The last one fits any
// report: each part has a line or two in it.
constexpr std::array<Room, 10> kRooms{{
    {},
    {.evidence = 2,
     .further = 4,
     .installed = 2,
     .companions = 2,
     .unknown_rules = 2,
     .processes = 3,
     .events = 4,
     .story_lines = 7},
    {.evidence = 1,
     .further = 3,
     .installed = 1,
     .companions = 2,
     .unknown_rules = 1,
     .reason_lines = 2,
     .processes = 2,
     .events = 4,
     .story_lines = 7},
    {.evidence = 1,
     .further = 2,
     .installed = 1,
     .companions = 1,
     .unknown_rules = 0,
     .reason_lines = 2,
     .processes = 2,
     .events = 3,
     .story_lines = 6},
    {.evidence = 1,
     .further = 2,
     .installed = 0,
     .companions = 1,
     .unknown_rules = 0,
     .reason_lines = 1,
     .sentence_lines = 4,
     .detail_lines = 3,
     .probe_rows = 4,
     .unseen = 2,
     .processes = 2,
     .events = 3,
     .story_lines = 6},
    {.evidence = 1,
     .further = 2,
     .installed = 0,
     .companions = 1,
     .unknown_rules = 0,
     .reason_lines = 1,
     .sentence_lines = 3,
     .allowed = 2,
     .mapped = 4,
     .detail_lines = 2,
     .answers = 6,
     .probe_rows = 4,
     .peers = 2,
     .unseen = 2,
     .processes = 1,
     .events = 2,
     .story_lines = 6},
    {.evidence = 1,
     .further = 1,
     .installed = 0,
     .companions = 1,
     .unknown_rules = 0,
     .reason_lines = 1,
     .sentence_lines = 2,
     .fixes = 2,
     .no_help = 1,
     .ended = 1,
     .loads = 1,
     .allowed = 1,
     .mapped = 4,
     .detail_lines = 1,
     .answers = 3,
     .probe_rows = 2,
     .peers = 1,
     .unseen = 1,
     .processes = 1,
     .events = 0,
     .story_lines = 5},
    {.evidence = 0,
     .further = 0,
     .installed = 0,
     .companions = 1,
     .unknown_rules = 0,
     .reason_lines = 1,
     .sentence_lines = 2,
     .fixes = 2,
     .no_help = 1,
     .ended = 1,
     .loads = 1,
     .allowed = 1,
     .mapped = 4,
     .detail_lines = 0,
     .answers = 3,
     .probe_rows = 1,
     .peers = 1,
     .unseen = 1,
     .processes = 1,
     .events = 0,
     .story_lines = 5},
    {.evidence = 0,
     .further = 0,
     .installed = 0,
     .companions = 1,
     .unknown_rules = 0,
     .reason_lines = 1,
     .sentence_lines = 2,
     .fixes = 1,
     .no_help = 0,
     .ended = 1,
     .loads = 0,
     .allowed = 0,
     .mapped = 3,
     .detail_lines = 0,
     .answers = 2,
     .probe_rows = 0,
     .peers = 0,
     .unseen = 1,
     .processes = 1,
     .events = 0,
     .story_lines = 5},
    {.evidence = 0,
     .further = 0,
     .installed = 0,
     .companions = 0,
     .unknown_rules = 0,
     .reason_lines = 1,
     .sentence_lines = 1,
     .fixes = 1,
     .no_help = 0,
     .ended = 0,
     .loads = 0,
     .allowed = 0,
     .mapped = 1,
     .detail_lines = 0,
     .answers = 1,
     .probe_rows = 0,
     .peers = 0,
     .unseen = 0,
     .processes = 0,
     .events = 0,
     .story_lines = 1},
}};

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

void write_numbered(TextWriter& writer, std::string_view label,
                    const std::vector<std::string>& items, std::size_t max_items) {
  const std::size_t shown = writer.shown(items.size(), max_items);
  for (std::size_t i = 0; i < shown; ++i) {
    const std::string number = items.size() > 1 ? std::to_string(i + 1) + " " : "";
    const Lead lead{.before = pad(i == 0 ? label : "", kTextColumn) + number,
                    .hang = kTextColumn + number.size()};
    writer.entry(lead, printable(items[i]));
  }
  write_left_out(writer, label, {.all = items.size(), .shown = shown});
}

void write_list(TextWriter& writer, std::string_view label, const std::vector<std::string>& items,
                std::size_t max_items) {
  const std::size_t shown = writer.shown(items.size(), max_items);
  for (std::size_t i = 0; i < shown; ++i) {
    writer.labelled(i == 0 ? label : "", printable(items[i]), 3);
  }
  write_left_out(writer, label, {.all = items.size(), .shown = shown});
}

}  // namespace

void write_main_finding(TextWriter& writer, const Finding& finding) {
  write_main_finding(writer, finding, owner_advice(finding.owner));
}

void write_main_finding(TextWriter& writer, const Finding& finding, std::string_view owner) {
  if (!finding.effect.empty()) writer.labelled("EFFECT", printable(finding.effect));
  writer.labelled("OWNER", owner);
  write_list(writer, "SEEN", finding.evidence, writer.room().evidence);
  write_numbered(writer, "FIX", finding.fixes, writer.room().fixes);
  write_list(writer, "NO HELP", finding.no_help, writer.room().no_help);
}

namespace {

/// The finding whose remedy this is too, where it stands further up; nullptr: none.
const Finding* told_before(const Report& report, std::size_t index) {
  const std::vector<std::string>& fixes = report.findings[index].fixes;
  if (fixes.empty()) return nullptr;
  for (std::size_t i = 0; i < index; ++i) {
    const std::vector<std::string>& others = report.findings[i].fixes;
    if (std::find(others.begin(), others.end(), fixes.front()) != others.end()) {
      return &report.findings[i];
    }
  }
  return nullptr;
}

Lead lead_of(const Finding& finding) {
  return {.before = " ",
          .word = severity_word(finding.severity),
          .tone = tone_of(finding.severity),
          .after = " " + printable(finding.id) + "  "};
}

void write_short_finding(TextWriter& writer, const Report& report, std::size_t index) {
  const Finding& finding = report.findings[index];
  const Finding* const before = told_before(report, index);
  if (before != nullptr && !writer.verbose()) {
    writer.entry(lead_of(finding),
                 printable(finding.headline) + " FIX as for " + printable(before->id));
    return;
  }
  writer.entry(lead_of(finding), printable(finding.headline));
  if (writer.verbose()) {
    if (!finding.effect.empty()) writer.labelled("", "effect: " + printable(finding.effect));
    for (const auto& fact : finding.evidence) writer.labelled("", "seen: " + printable(fact));
  }
  const Lead fix{.before = std::string(kTextColumn, ' ') + "FIX ", .hang = kTextColumn + 4};
  const std::size_t fixes = writer.shown(finding.fixes.size(), 1);
  for (std::size_t i = 0; i < std::min(fixes, finding.fixes.size()); ++i) {
    writer.entry(fix, printable(finding.fixes[i]), 3);
  }
}

void write_further_findings(TextWriter& writer, const Report& report) {
  const std::size_t first = leads_with_finding(report) ? 1 : 0;
  const std::size_t count = count_counted(report);
  if (first >= count) return;
  writer.title(first == 0 ? "FINDINGS" : "ALSO");
  const std::size_t end = writer.shown(count, std::min(count, first + writer.room().further));
  for (std::size_t i = first; i < end; ++i) write_short_finding(writer, report, i);
  if (end < count) {
    writer.entry({.before = " ", .hang = 1},
                 count_of(count - end, end == first ? "finding" : "more finding") + " with -v");
  }
}

/// Who allowed it is said of each that is shown; that there are some always.
void write_allowed_findings(TextWriter& writer, const Report& report) {
  const std::size_t first = count_counted(report);
  const std::size_t count = report.findings.size() - first;
  if (count == 0) return;
  writer.title("ALLOWED: without a say in the verdict");
  const std::size_t shown = writer.shown(count, writer.room().allowed);
  for (std::size_t i = first; i < first + shown; ++i) {
    const Finding& finding = report.findings[i];
    if (writer.verbose()) {
      write_short_finding(writer, report, i);
    } else {
      writer.entry(lead_of(finding), printable(finding.headline), 2);
    }
    writer.labelled("", "allowed: " + printable(finding.allowed), 2);
  }
  if (shown < count) {
    writer.entry({.before = " ", .hang = 1},
                 count_of(count - shown, shown == 0 ? "finding" : "more finding") + " with -v");
  }
}

/// How to see the rest. A command is not started again for it: it would take as long, and may load
/// something else.
std::string how_to_see_all(const TextWriter& writer) {
  const auto& folder = writer.recording_folder();
  if (!folder) return "add -v, or --explain-selection";
  if (folder->empty()) {
    return "keep it with --record DIR, then cudart-doctor --from DIR -v";
  }
  return "cudart-doctor --from " + escape_foreign(*folder) + " -v";
}

/// The next command to type.
void write_more(TextWriter& writer, const Report& report) {
  std::string text;
  if (leads_with_finding(report)) {
    text = "cudart-doctor explain " + printable(report.findings.front().id);
  }
  if (!writer.verbose()) {
    text += std::string(text.empty() ? "" : "; ") + how_to_see_all(writer);
  }
  if (!text.empty()) writer.labelled("MORE", text);
}

}  // namespace

std::string exit_reason(const Report& report) {
  const Verdict& verdict = report.verdict;
  const std::string style = verdict.exit_style == ExitStyle::standard
                                ? ""
                                : " (" + std::string(name_of(verdict.exit_style)) + ")";
  if (verdict.end == RunEnd::undecided) return "could not decide" + style;
  const std::vector<std::string> counts = finding_counts(report);
  if (counts.empty()) return "no finding" + style;
  const auto grave = std::ranges::count_if(report.findings, [&](const Finding& finding) {
    return finding.severity >= verdict.fail_on && finding.allowed.empty();
  });
  return join(counts, ", ") + "; " + (grave == 0 ? "none" : std::to_string(grave)) +
         " at or above --fail-on " + std::string(name_of(verdict.fail_on)) + style;
}

namespace {

/// Whether the steps of rules, which somebody asked for, are in it.
enum class Steps : bool { out, in };

/// A command that was recorded ends with its own code.
std::string exit_label(const Report& report) {
  if (report.snapshot.recording.is_known()) return "VERDICT";
  return "EXIT " + std::to_string(report.verdict.exit_code);
}

std::string written(const Report& report, const TextOptions& options, const Room& room,
                    Steps steps) {
  TextWriter writer(options, room);
  write_head(writer, report);
  if (leads_with_finding(report)) write_main_finding(writer, report.findings.front());
  write_list(writer, "ALLOW", report.allowances.ended, room.ended);
  write_list(writer, "LOADED", report.snapshot.self_notes, room.loads);
  write_story(writer, report);
  if (nobody_judged(report.snapshot)) {
    write_loads(writer, report);
    write_unseen(writer, report);
    writer.labelled(exit_label(report), exit_reason(report));
    return writer.take();
  }
  writer.blank();
  write_further_findings(writer, report);
  write_allowed_findings(writer, report);
  write_runtimes(writer, report);
  write_companions(writer, report);
  write_loads(writer, report);
  write_answers(writer, report);
  if (steps == Steps::in) write_selections(writer, report);
  write_probe(writer, report);
  write_peers(writer, report);
  write_unseen(writer, report);
  write_read(writer, report);
  write_more(writer, report);
  writer.labelled(exit_label(report), exit_reason(report));
  return writer.take();
}

/// Lists in the order in which they take what is left of the screen: what is to be done first.
constexpr std::array kFillers = {&Room::fixes,          &Room::further,      &Room::mapped,
                                 &Room::story_lines,    &Room::evidence,     &Room::reason_lines,
                                 &Room::sentence_lines, &Room::no_help,      &Room::allowed,
                                 &Room::answers,        &Room::detail_lines, &Room::processes,
                                 &Room::events,         &Room::ended,        &Room::loads,
                                 &Room::probe_rows,     &Room::peers,        &Room::companions,
                                 &Room::installed,      &Room::unseen,       &Room::unknown_rules};

std::size_t lines_in(const Report& report, const TextOptions& options, const Room& room) {
  const std::string text = written(report, options, room, Steps::out);
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

/// `room` with as much more of each list as the screen still takes.
Room filled(const Report& report, const TextOptions& options, Room room) {
  constexpr std::size_t kSteps = 4;  // Each is a report more to be written.
  for (const auto list : kFillers) {
    for (std::size_t step = 0; step < kSteps && room.*list < Room{}.*list; ++step) {
      Room more = room;
      ++(more.*list);
      if (lines_in(report, options, more) > kScreen) break;
      room = more;
    }
  }
  return room;
}

}  // namespace

std::string render_text(const Report& report, const TextOptions& options) {
  Room room = kRooms.front();
  // Short lines are many: on a narrow terminal nothing is left out for it.
  if (!options.verbose && options.columns >= kMostColumns) {
    bool fits = false;
    for (const Room& next : kRooms) {
      room = next;
      fits = lines_in(report, options, room) <= kScreen;
      if (fits) break;
    }
    if (fits) room = filled(report, options, room);
  }
  return written(report, options, room, Steps::in);
}

}  // namespace cudart_doctor
