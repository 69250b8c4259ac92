// The page's frame: what a browser is told, the verdict, and the sections in the order in which an
// operator asks.

#include "cudart_doctor/analyze/timeline.hpp"
#include "cudart_doctor/base/text.hpp"
#include "render/describe.hpp"
#include "render/html_writer.hpp"
#include "render/run_phrases.hpp"
#include "render/view.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kMaxWho = 300;  // Columns of a command line in the head.
constexpr std::size_t kMaxTitle = 120;
constexpr std::size_t kMaxHeadline = 400;

std::string who_text(const Report& report) {
  if (report.snapshot.environment_only) return "environment only: no program was started";
  if (nobody_judged(report.snapshot)) {
    return "command " + command_title(*report.snapshot.recording.get());
  }
  return "pid " + std::to_string(report.snapshot.process.pid) + " " +
         cut_end(process_title(report.snapshot.process), kMaxWho);
}

std::string word_text(const VerdictView& verdict) {
  return verdict.id.empty() ? verdict.word : verdict.word + " " + verdict.id;
}

void write_head(HtmlWriter& page, const Report& report, const VerdictView& verdict) {
  page.raw("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">");
  // Nothing is loaded and nothing runs, even if some text should get through.
  page.raw(
      "<meta http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src 'none'; style-src 'unsafe-inline'\">");
  page.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
  page.raw("<meta name=\"color-scheme\" content=\"light dark\">");
  page.raw("<title>" +
           html_escaped(cut_end(word_text(verdict) + ": " + who_text(report), kMaxTitle)) +
           "</title>");
  page.raw("<style>" + std::string(html_style()) + "</style>\n</head>\n<body>");
}

void write_verdict(HtmlWriter& page, const Report& report, const VerdictView& verdict) {
  page.raw("<header class=\"" + std::string(html_class(verdict.tone)) + "\">\n<div class=\"in\">");
  page.raw("<p class=\"word\">" + html_escaped(word_text(verdict)) + "</p>");
  page.raw("<h1>" + html_sentence(cut_end(headline_sentence(report), kMaxHeadline)) + "</h1>");
  std::string who = html_sentence(who_text(report));
  if (!report.snapshot.host.name.empty()) {
    who +=
        "<br>node " + html_sentence(cut_end(escape_foreign(report.snapshot.host.name), kMaxTitle));
  }
  page.raw("<p class=\"who\">" + who + "</p>");
  // "OK" says what was found; that nothing was run must not be missed.
  if (report.snapshot.probe.decision == ProbeDecision::refused) {
    page.raw("<p>Not tested on a GPU: see <a href=\"#probe\">Probe</a>.</p>");
  }
  page.raw("</div>\n</header>");
}

void write_foot(HtmlWriter& page, const Report& report) {
  std::string text = "cudart-doctor " CUDART_DOCTOR_VERSION;
  if (!report.snapshot.capture.taken_at.empty()) {
    text += ", seen at " + printable(report.snapshot.capture.taken_at);
  }
  page.raw("<footer><div class=\"in\"><p>" + html_escaped(text) + "</p></div></footer>");
  page.raw("</body>\n</html>");
}

/// All that only a process that was judged has.
void write_process_parts(HtmlWriter& page, const Report& report) {
  page.raw("<div class=\"pair\">");
  html_graph(page, report);
  html_answers(page, report);
  page.raw("</div>");
  html_findings(page, report);
  html_libraries(page, report);
  html_probe(page, report);
}

}  // namespace

std::string render_html(const Report& report) {
  HtmlWriter page;
  const VerdictView verdict = verdict_view(report);
  write_head(page, report, verdict);
  write_verdict(page, report, verdict);
  page.raw("<main class=\"in\">");
  html_answer(page, report);
  html_run(page, report);
  if (!nobody_judged(report.snapshot)) write_process_parts(page, report);
  html_limits(page, report);
  html_target(page, report);
  page.raw("</main>");
  write_foot(page, report);
  return page.take();
}

}  // namespace cudart_doctor
