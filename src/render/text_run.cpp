// STORY, RUN, OTHERS and LOADS of the text report: what a command did from its start.
#include <algorithm>

#include "cudart_doctor/analyze/timeline.hpp"
#include "cudart_doctor/base/text.hpp"
#include "render/describe.hpp"
#include "render/names.hpp"
#include "render/run_phrases.hpp"
#include "render/text_writer.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kTimeColumns = 8;

void write_frames(TextWriter& writer, const LoadEvent& event) {
  for (const PythonFrame& frame : event.python) {
    std::string text = "at " + escape_foreign(frame.file) + ":" + std::to_string(frame.line);
    if (!frame.function.empty()) text += " in " + escape_foreign(frame.function);
    writer.labelled("", text);
  }
  if (!event.python_note.empty()) writer.labelled("", "Python: " + printable(event.python_note));
}

/// Everything that is known of an event.
void write_event(TextWriter& writer, const Report& report, const LoadEvent& event,
                 const TimelineRow& row) {
  const std::string ref = row.candidate ? candidate_refs(report)[*row.candidate] + " " : "";
  const std::string what = event.kind == LoadKind::load ? "" : "unloaded ";
  writer.path_line({.before = " " + pad(duration_text(event.nanoseconds), kTimeColumns) + ref +
                              "pid " + std::to_string(event.pid) + "  " + what},
                   escape_foreign(event.path), "");
  if (event.kind == LoadKind::unload) return;
  std::vector<std::string> facts = {std::string(name_of(event.cause))};
  if (!event.requested.empty() && event.requested != event.path) {
    facts.push_back("as " + escape_foreign(event.requested));
  }
  if (!event.requester.empty()) facts.push_back("by " + escape_foreign(event.requester));
  facts.push_back("at " + hex(event.base));
  facts.push_back("behind " + count_of(event.order, "object"));
  if (event.loader_namespace != 0) {
    facts.push_back("loader namespace " + std::to_string(event.loader_namespace));
  }
  writer.labelled("", join(facts, "; "));
  if (event.caller) {
    const NativeCaller& caller = *event.caller;
    writer.labelled("", "called from " + escape_foreign(caller.object) + "+0x" +
                            hex(caller.offset) +
                            (caller.symbol.empty() ? "" : " in " + escape_foreign(caller.symbol)));
  }
  write_frames(writer, event);
}

std::string process_text(const Recording& recording, const RecordedProcess& process) {
  std::string out = process_name(recording, process);
  if (!process.recorded) {
    out +=
        "; not recorded" + (process.unrecorded.empty() ? "" : ": " + printable(process.unrecorded));
  }
  if (process.copy_of != 0) out += "; a copy of pid " + std::to_string(process.copy_of);
  if (process.judged != JudgeMoment::none) {
    out += "; judged: " + std::string(process.worst ? name_of(*process.worst) : "no finding");
    std::vector<std::string> ids;
    for (const std::string& id : process.findings) ids.push_back(printable(id));
    if (!ids.empty()) out += " " + join(ids, ", ");
    if (!process.undecided.empty()) out += ", undecided: " + printable(process.undecided);
  }
  if (!process.not_judged.empty()) out += "; not judged: " + printable(process.not_judged);
  return out;
}

void write_all(TextWriter& writer, const Report& report, const Recording& recording) {
  writer.title("PROCESSES of the command");
  for (const RecordedProcess& process : recording.processes) {
    writer.entry({.before = " " + pad(std::to_string(process.pid), kTimeColumns)},
                 process_text(recording, process));
  }
  if (recording.events.empty()) return;
  writer.title("LOADS by time, all that were recorded");
  for (std::size_t i = 0; i < report.timeline.rows.size(); ++i) {
    write_event(writer, report, recording.events[i], report.timeline.rows[i]);
  }
}

/// What the command left behind: a line each, or all in two.
void write_still(TextWriter& writer, const Recording& recording) {
  constexpr std::size_t kTitle = 44;
  constexpr std::size_t kShortTitle = 20;
  const auto still = left_running(recording);
  if (still.empty()) return;
  const bool each = writer.verbose() || still.size() == 1;
  std::vector<std::string> all;
  for (const std::string& process : still) {
    if (each) {
      const std::string name = writer.verbose() ? process : cut_end(process, kTitle);
      writer.labelled(all.empty() ? "STILL" : "", name + " runs on, no longer recorded");
    }
    all.push_back(cut_end(process, kShortTitle));
  }
  if (each) return;
  writer.labelled("STILL",
                  count_of(still.size(), "process", "processes") +
                      " run on, no longer recorded: " + join(all, ", "),
                  2);
}

}  // namespace

void write_story(TextWriter& writer, const Report& report) {
  const Recording* recording = report.snapshot.recording.get();
  if (recording == nullptr) return;
  if (const auto& story = report.timeline.story) {
    writer.labelled_whole("STORY", printable(story->text), writer.room().story_lines);
    if (!story->effect.empty()) writer.labelled("", printable(story->effect), 2);
  }
  // The head has told all of it where nothing was judged and the command failed.
  const bool told = recording->judged_pid == 0 && !trouble_sentence(*recording).empty();
  if (!told || writer.verbose()) {
    writer.labelled_whole("RUN", run_sentence(report, *recording), 4);
  }
  write_still(writer, *recording);
  const auto others = other_processes(report, *recording);
  const std::size_t shown = writer.shown(others.size(), writer.room().processes);
  for (std::size_t i = 0; i < shown; ++i) {
    writer.labelled(i == 0 ? "OTHERS" : "", others[i], 2);
  }
  write_left_out(writer, "OTHERS", {.all = others.size(), .shown = shown});
}

void write_loads(TextWriter& writer, const Report& report) {
  const Recording* recording = report.snapshot.recording.get();
  if (recording == nullptr) return;
  if (writer.verbose()) return write_all(writer, report, *recording);
  const auto rows = load_rows(report, *recording);
  if (rows.empty()) return;
  const std::size_t shown = writer.shown(rows.size(), writer.room().events);
  if (shown == 0) return write_left_out(writer, "LOADS", {.all = rows.size(), .shown = 0});
  writer.title("LOADS by time since the start");
  for (std::size_t i = 0; i < shown; ++i) {
    const LoadRow& row = rows[i];
    writer.entry({.before = " " + pad(row.time, kTimeColumns) + pad(row.ref, 2),
                  .word = std::string(row.mark.word),
                  .tone = row.mark.tone,
                  .after = std::string(6 - std::min<std::size_t>(4, row.mark.word.size()), ' ')},
                 row.name + ": " + row.how, 2);
  }
  write_left_out(writer, "", {.all = rows.size(), .shown = shown});
}

}  // namespace cudart_doctor
