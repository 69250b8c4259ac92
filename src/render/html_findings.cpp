// What is wrong and what to do, and what was not seen.
#include <algorithm>

#include "cudart_doctor/base/text.hpp"
#include "render/describe.hpp"
#include "render/html_writer.hpp"
#include "render/text_writer.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kOpenFacts = 3;

/// One sentence stands alone, several in a list.
std::string sentences(std::string_view tag, const std::vector<std::string>& items) {
  if (items.size() == 1) return html_sentence(printable(items.front()));
  return HtmlWriter::list(tag, items);
}

/// The first facts in sight, the others folded: they may fill screens.
std::string facts(const std::vector<std::string>& items) {
  if (items.size() <= kOpenFacts + 1) return sentences("ul", items);
  const auto rest = items.begin() + static_cast<std::ptrdiff_t>(kOpenFacts);
  return HtmlWriter::list("ul", {items.begin(), rest}) + "<details><summary>" +
         std::to_string(items.size() - kOpenFacts) + " more</summary>" +
         HtmlWriter::list("ul", {rest, items.end()}) + "</details>";
}

void write_facts(HtmlWriter& page, const Finding& finding) {
  page.raw("<dl>");
  page.fact_text("Allowed", printable(finding.allowed));
  page.fact_text("Effect", printable(finding.effect));
  page.fact_text("Owner", owner_advice(finding.owner));
  if (!finding.fixes.empty()) page.fact("Fix", sentences("ol", finding.fixes));
  if (!finding.no_help.empty()) page.fact("No help", sentences("ul", finding.no_help));
  if (!finding.evidence.empty()) page.fact("Seen", facts(finding.evidence));
  page.raw("</dl>");
}

void write_finding(HtmlWriter& page, const Finding& finding) {
  const bool allowed = !finding.allowed.empty();
  page.raw(allowed ? "<article class=\"allowed\">" : "<article>");
  const std::string word = severity_word(finding.severity);
  page.raw("<h3>" + html_mark({word, allowed ? Tone::plain : tone_of(finding.severity)}) + " " +
           html_escaped(printable(finding.id)) + "</h3>");
  page.raw("<p class=\"says\">" + html_sentence(printable(finding.headline)) + "</p>");
  write_facts(page, finding);
  page.raw("</article>");
}

}  // namespace

void html_answer(HtmlWriter& page, const Report& report) {
  const auto& loaded = report.snapshot.self_notes;
  const auto& ended = report.allowances.ended;
  if (!leads_with_finding(report) && loaded.empty() && ended.empty()) return;
  page.begin_section("answer", "What it means");
  if (leads_with_finding(report)) write_facts(page, report.findings.front());
  if (!loaded.empty() || !ended.empty()) {
    page.raw("<dl>");
    if (!ended.empty()) page.fact("Allowance ended", sentences("ul", ended));
    if (!loaded.empty()) page.fact("Loaded for this look", sentences("ul", loaded));
    page.raw("</dl>");
  }
  if (leads_with_finding(report) && report.findings.size() > 1) {
    page.raw("<p><a href=\"#findings\">" + count_of(report.findings.size() - 1, "further finding") +
             "</a></p>");
  }
  page.end_section();
}

void html_findings(HtmlWriter& page, const Report& report) {
  const std::size_t first = leads_with_finding(report) ? 1 : 0;
  const std::size_t count = report.findings.size();
  if (first >= count) return;
  page.begin_section("findings", first == 0 ? "Findings" : "Also");
  const std::size_t end = std::min(count, first + HtmlWriter::kMaxItems);
  for (std::size_t i = first; i < end; ++i) write_finding(page, report.findings[i]);
  if (end < count) page.paragraph(count_of(count - end, "more finding"));
  page.end_section();
}

void html_limits(HtmlWriter& page, const Report& report) {
  page.begin_section("limits", "What was not seen");
  const auto lines = unseen(report, Detail::full);
  if (lines.empty()) {
    page.paragraph("Nothing that this look asks for was kept from it.");
  } else {
    page.raw(HtmlWriter::list("ul", lines));
  }
  page.raw("<dl>");
  page.fact_text("Read", read_text(report));
  if (report.snapshot.recording.is_known()) {
    // The command ends with its own code.
    page.fact_text("Verdict", exit_reason(report));
  } else {
    page.fact_text("Exit code",
                   std::to_string(report.verdict.exit_code) + ": " + exit_reason(report));
  }
  page.raw("</dl>");
  page.end_section();
}

}  // namespace cudart_doctor
