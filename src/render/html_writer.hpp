// HTML text: elements of our own, and report text that can be nothing but text in them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/model/report.hpp"
#include "render/phrases.hpp"

namespace cudart_doctor {

/// `text` (printable) with the five characters that mean something in HTML as references; fit for
/// elements and for attributes in double quotes.
std::string html_escaped(std::string_view text);

/// As html_escaped, with paths as <code> and a chance to break a line behind each '/'.
std::string html_sentence(std::string_view sentence);

/// `text` (printable) as <code> that may break behind each '/'.
std::string html_code(std::string_view text);

/// "bad", "notice", "good", "plain": the class of a tone.
std::string_view html_class(Tone tone);

/// A word in its tone: <span class="mark bad">FAIL</span>.
std::string html_mark(const Mark& mark);

/// The page as it grows. What is called markup is HTML already; all else is printable text.
class HtmlWriter {
 public:
  void raw(std::string_view markup) { out_.append(markup).append("\n"); }
  /// <section id=ID> with its heading; to be ended with end_section.
  void begin_section(std::string_view id, std::string_view heading);
  void end_section() { raw("</section>"); }
  void paragraph(std::string_view sentence);
  /// A row of a description list: markup behind a label.
  void fact(std::string_view label, std::string_view markup);
  /// As above, where the text is not empty.
  void fact_text(std::string_view label, std::string_view sentence);
  /// A list, numbered where `tag` is "ol". Not more than kMaxItems of it.
  [[nodiscard]] static std::string list(std::string_view tag,
                                        const std::vector<std::string>& sentences);
  /// `css` is the class that sets the widths of the columns.
  void begin_table(std::string_view css, const std::vector<std::string_view>& heads);
  /// Cells of markup; the first is the row's heading.
  void row(const std::vector<std::string>& cells);
  void end_table() { raw("</tbody></table>"); }

  [[nodiscard]] std::string take() { return std::move(out_); }

  /// Items of a list or rows of a table; the rest is counted.
  static constexpr std::size_t kMaxItems = 300;

 private:
  std::string out_;
};

/// The style sheet of the page.
std::string_view html_style();

/// The parts of the page, in their order.
void html_answer(HtmlWriter& page, const Report& report);
void html_run(HtmlWriter& page, const Report& report);
void html_findings(HtmlWriter& page, const Report& report);
void html_graph(HtmlWriter& page, const Report& report);
void html_answers(HtmlWriter& page, const Report& report);
void html_libraries(HtmlWriter& page, const Report& report);
void html_probe(HtmlWriter& page, const Report& report);
void html_limits(HtmlWriter& page, const Report& report);
void html_target(HtmlWriter& page, const Report& report);

}  // namespace cudart_doctor
