// Every runtime and what each really is; who takes which.
#include <algorithm>

#include "cudart_doctor/base/text.hpp"
#include "render/describe.hpp"
#include "render/html_writer.hpp"
#include "render/names.hpp"
#include "render/view.hpp"

namespace cudart_doctor {
namespace {

std::string folded(std::string_view summary, const std::vector<std::string>& lines) {
  if (lines.empty()) return {};
  return "<details><summary>" + html_escaped(summary) + "</summary>" +
         HtmlWriter::list("ul", lines) + "</details>";
}

std::string candidate_cell(const Report& report, std::size_t index) {
  const Candidate& candidate = report.candidates[index];
  const LoadedObject* object = object_of(report, candidate.object);
  std::string cell = html_code(escape_foreign(candidate.path));
  cell += "<p>" +
          (object == nullptr ? "not mapped" : "at <code>" + hex(object->lowest) + "</code>") +
          "; " + html_sentence(candidate_details(report, index, Detail::brief)) + "</p>";
  std::vector<std::string> more;
  if (object != nullptr) {
    for (const auto& path : object->paths) {
      if (path != candidate.path) more.push_back("also " + escape_foreign(path));
    }
  }
  if (candidate.build_id) more.push_back("build-id " + escape_foreign(*candidate.build_id));
  for (const Loader& loader : loaders_of(report, index)) {
    more.push_back((loader.needs ? "needed by " : "used by ") + loader.name);
  }
  for (const auto& sign : candidate.evidence) more.push_back(sign);
  return cell + folded("Evidence", more);
}

std::vector<std::string> steps_of(const Selection& selection) {
  std::vector<std::string> lines;
  const auto add = [&](std::string_view label, const std::string& text) {
    if (!text.empty()) lines.push_back(std::string(label) + text);
  };
  add("presence: ", printable(selection.presence_note));
  add("vintage: ", printable(selection.vintage));
  add("source: ", printable(selection.source));
  for (const Step& step : selection.steps) {
    lines.push_back(std::string(name_of(step.verdict)) + " " + escape_foreign(step.subject) + ": " +
                    printable(step.reason));
  }
  add("opens ", escape_foreign(selection.chosen_text));
  add("", printable(selection.open_note));
  add("error: ", printable(selection.error_text));
  return lines;
}

void write_answer(HtmlWriter& page, const Report& report, const Selection& selection) {
  const AnswerRow row = answer_row(report, selection, candidate_refs(report));
  std::string why = row.why;
  if (why.starts_with(", ")) why.erase(0, 1);
  page.row({html_escaped(row.title), html_escaped(row.where),
            html_mark({row.result, row.tone}) + html_sentence(why) +
                folded("Steps", steps_of(selection))});
}

}  // namespace

void html_libraries(HtmlWriter& page, const Report& report) {
  page.begin_section("runtimes", "Runtimes in address order");
  const bool selectable =
      std::any_of(report.candidates.begin(), report.candidates.end(),
                  [](const Candidate& each) { return each.kind != RuntimeKind::static_copy; });
  if (selectable) {
    page.begin_table("files", {"", "Kind", "File"});
    const auto refs = candidate_refs(report);
    for (std::size_t i = 0; i < std::min(refs.size(), HtmlWriter::kMaxItems); ++i) {
      const Candidate& candidate = report.candidates[i];
      if (candidate.kind == RuntimeKind::static_copy) continue;
      page.row({refs[i], html_mark(mark_of(candidate.kind)), candidate_cell(report, i)});
    }
    page.end_table();
  } else {
    page.paragraph("None that could be selected was found.");
  }
  const std::string copies = static_copies_text(report, Detail::full);
  if (!copies.empty()) page.paragraph(copies);
  const auto companions = companion_lines(report, Detail::full);
  if (!companions.empty()) {
    page.raw("<h3>Driver and companions</h3>");
    page.raw(HtmlWriter::list("ul", companions));
  }
  page.end_section();
}

void html_answers(HtmlWriter& page, const Report& report) {
  if (report.selections.empty()) return;
  page.begin_section("answers", "Who takes what");
  const auto told = telling_selections(report);
  if (!told.empty()) {
    page.begin_table("takes", {"Consumer", "Takes", "Result"});
    for (const Selection* selection : told) write_answer(page, report, *selection);
    page.end_table();
  }
  if (told.size() < report.selections.size()) {
    page.raw("<details><summary>" + count_of(report.selections.size() - told.size(), "other rule") +
             "</summary>");
    page.begin_table("takes", {"Rule", "Takes", "Result"});
    for (const Selection& selection : report.selections) {
      if (std::find(told.begin(), told.end(), &selection) == told.end()) {
        write_answer(page, report, selection);
      }
    }
    page.end_table();
    page.raw("</details>");
  }
  page.end_section();
}

}  // namespace cudart_doctor
