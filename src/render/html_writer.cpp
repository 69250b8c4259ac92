#include "render/html_writer.hpp"

#include <algorithm>

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

constexpr std::string_view kOpening = "(\"'";
constexpr std::string_view kClosing = ").,;:\"'";

/// A path or the name of a library, which is told from prose by its letters' form.
bool is_code(std::string_view core) {
  const bool path = core.size() > 2 && core.front() == '/';
  return path || core.find(".so") != std::string_view::npos;
}

/// A line may end behind a '/' within a path.
std::string breakable(std::string_view text) {
  std::string out;
  bool first = true;
  for (const std::string_view part : split(text, '/')) {
    if (!first) out += "/<wbr>";
    first = false;
    out += html_escaped(part);
  }
  return out;
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    switch (letter) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += letter;
    }
  }
  return out;
}

std::string html_sentence(std::string_view sentence) {
  std::string out;
  bool first = true;
  for (const std::string_view word : split(sentence, ' ')) {
    if (!first) out += ' ';
    first = false;
    const std::size_t begin = std::min(word.find_first_not_of(kOpening), word.size());
    const std::size_t last = word.find_last_not_of(kClosing);
    const std::size_t end = last == std::string_view::npos ? begin : std::max(begin, last + 1);
    const std::string_view core = word.substr(begin, end - begin);
    if (is_code(core)) {
      out += html_escaped(word.substr(0, begin)) + html_code(core) + html_escaped(word.substr(end));
    } else {
      out += breakable(word);
    }
  }
  return out;
}

std::string html_code(std::string_view text) { return "<code>" + breakable(text) + "</code>"; }

std::string_view html_class(Tone tone) {
  switch (tone) {
    case Tone::plain: return "plain";
    case Tone::good: return "good";
    case Tone::notice: return "notice";
    case Tone::bad:
    case Tone::grave: return "bad";
  }
  return {};
}

std::string html_mark(const Mark& mark) {
  return "<span class=\"mark " + std::string(html_class(mark.tone)) + "\">" +
         html_escaped(mark.word) + "</span>";
}

void HtmlWriter::begin_section(std::string_view id, std::string_view heading) {
  raw("<section id=\"" + std::string(id) + "\" aria-labelledby=\"" + std::string(id) + "-h\">");
  raw("<h2 id=\"" + std::string(id) + "-h\">" + html_escaped(heading) + "</h2>");
}

void HtmlWriter::paragraph(std::string_view sentence) {
  raw("<p>" + html_sentence(sentence) + "</p>");
}

void HtmlWriter::fact(std::string_view label, std::string_view markup) {
  raw("<dt>" + html_escaped(label) + "</dt><dd>" + std::string(markup) + "</dd>");
}

void HtmlWriter::fact_text(std::string_view label, std::string_view sentence) {
  if (!sentence.empty()) fact(label, html_sentence(sentence));
}

std::string HtmlWriter::list(std::string_view tag, const std::vector<std::string>& sentences) {
  std::string out = "<" + std::string(tag) + ">";
  const std::size_t shown = std::min(sentences.size(), kMaxItems);
  for (std::size_t i = 0; i < shown; ++i) {
    out += "<li>" + html_sentence(printable(sentences[i])) + "</li>";
  }
  if (shown < sentences.size()) {
    out += "<li>and " + std::to_string(sentences.size() - shown) + " more</li>";
  }
  return out + "</" + std::string(tag) + ">";
}

void HtmlWriter::begin_table(std::string_view css, const std::vector<std::string_view>& heads) {
  std::string head = "<table class=\"" + std::string(css) + "\"><thead><tr>";
  for (const std::string_view each : heads) {
    head += "<th scope=\"col\">" + html_escaped(each) + "</th>";
  }
  raw(head + "</tr></thead><tbody>");
}

void HtmlWriter::row(const std::vector<std::string>& cells) {
  std::string out = "<tr>";
  bool first = true;
  for (const std::string& cell : cells) {
    out += first ? "<th scope=\"row\">" + cell + "</th>" : "<td>" + cell + "</td>";
    first = false;
  }
  raw(out + "</tr>");
}

}  // namespace cudart_doctor
