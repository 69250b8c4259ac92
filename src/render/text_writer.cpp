// Wrapping with a lead.
#include "render/text_writer.hpp"

#include <utility>

#include "render/names.hpp"

namespace cudart_doctor {
namespace {

std::size_t left_of(std::size_t used) { return used < kColumns ? kColumns - used : 0; }

std::string trim_end(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace

void TextWriter::entry(const Lead& lead, std::string_view sentence, std::size_t max_lines) {
  const std::size_t width =
      display_width(lead.before) + display_width(lead.word) + display_width(lead.after);
  const auto lines =
      wrap(sentence, {.first = left_of(width),
                      .rest = left_of(lead.hang),
                      .max_lines = verbose() ? 0 : max_lines,
                      .long_words = verbose() ? LongWords::keep : LongWords::shorten});
  std::string first =
      lead.before + paint(lead.word, lead.tone, options_.color) + lead.after + lines.front();
  line(trim_end(std::move(first)));
  for (std::size_t i = 1; i < lines.size(); ++i) line(std::string(lead.hang, ' ') + lines[i]);
}

void TextWriter::labelled(std::string_view label, std::string_view sentence,
                          std::size_t max_lines) {
  entry({.before = pad(label, kTextColumn)}, sentence, max_lines);
}

void TextWriter::path_line(const Lead& lead, std::string_view path, std::string_view after) {
  const std::size_t width = display_width(lead.before) + display_width(lead.word) +
                            display_width(lead.after) + display_width(after);
  std::string text = lead.before + paint(lead.word, lead.tone, options_.color) + lead.after +
                     (verbose() ? std::string(path) : shorten_path(path, left_of(width)));
  line(trim_end(text.append(after)));
}

Tone tone_of(Severity severity) {
  switch (severity) {
    case Severity::info: return Tone::plain;
    case Severity::warning: return Tone::notice;
    case Severity::error: return Tone::bad;
    case Severity::critical: return Tone::grave;
  }
  return Tone::plain;
}

std::string severity_word(Severity severity) {
  std::string word(name_of(severity));
  for (char& letter : word) letter = static_cast<char>(letter - 'a' + 'A');
  return word;
}

}  // namespace cudart_doctor
