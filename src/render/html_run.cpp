// A command that was recorded: the story, what it loaded in order, its processes.
#include <algorithm>

#include "cudart_doctor/analyze/timeline.hpp"
#include "cudart_doctor/base/text.hpp"
#include "render/html_writer.hpp"
#include "render/run_phrases.hpp"

namespace cudart_doctor {
namespace {

std::string frames_part(const LoadEvent& event) {
  std::vector<std::string> lines;
  for (const PythonFrame& frame : event.python) {
    lines.push_back(escape_foreign(frame.file) + ":" + std::to_string(frame.line) +
                    (frame.function.empty() ? "" : " in " + escape_foreign(frame.function)));
  }
  if (!event.python_note.empty()) lines.push_back(printable(event.python_note));
  if (lines.empty()) return {};
  return "<details><summary>Python stack</summary>" + HtmlWriter::list("ul", lines) + "</details>";
}

}  // namespace

void html_run(HtmlWriter& page, const Report& report) {
  const Recording* recording = report.snapshot.recording.get();
  if (recording == nullptr) return;
  page.begin_section("run", "The command");
  if (report.timeline.story) page.paragraph(story_text(report));
  page.paragraph(run_sentence(report, *recording));
  const auto rows = load_rows(report, *recording);
  if (!rows.empty()) {
    page.begin_table("files", {"", "Kind", "Load"});
    for (std::size_t i = 0; i < std::min(rows.size(), HtmlWriter::kMaxItems); ++i) {
      const LoadEvent& event = recording->events[rows[i].event];
      page.row({rows[i].ref, html_mark(rows[i].mark),
                html_code(escape_foreign(event.path)) + "<p>" + html_escaped(rows[i].time) +
                    " after the start; " + html_sentence(rows[i].how) + "</p>" +
                    frames_part(event)});
    }
    page.end_table();
  }
  const auto others = other_processes(report, *recording);
  if (!others.empty()) {
    page.raw("<h3>Other processes</h3>");
    page.raw(HtmlWriter::list("ul", others));
  }
  page.end_section();
}

}  // namespace cudart_doctor
