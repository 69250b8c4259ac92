// Wrapping with a lead.
#include "render/text_writer.hpp"

#include <utility>

#include "cudart_doctor/base/text.hpp"
#include "render/names.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kUsefulColumns = 24;  // A sentence in less than this reads badly.

std::string trim_end(std::string text) {
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace

void TextWriter::entry(const Lead& lead, std::string_view sentence, std::size_t max_lines) {
  write(lead, sentence, std::min(max_lines, room_.sentence_lines));
}

void TextWriter::labelled_whole(std::string_view label, std::string_view sentence,
                                std::size_t max_lines) {
  write({.before = pad(label, kTextColumn)}, sentence, max_lines);
}

void TextWriter::write(const Lead& lead, std::string_view sentence, std::size_t max_lines) {
  const std::size_t width =
      display_width(lead.before) + display_width(lead.word) + display_width(lead.after);
  // On a narrow terminal a long lead would leave the sentence a few columns: it goes below then.
  const std::size_t hang =
      left_of(lead.hang) < kUsefulColumns ? std::min(lead.hang, kTextColumn) : lead.hang;
  const std::size_t left = left_of(width);
  // What is to be copied stands on a line of its own where it does not fit behind the lead.
  const bool whole_word =
      verbose() && width != 0 && display_width(sentence.substr(0, sentence.find(' '))) > left;
  const bool below = display_width(sentence) > left && (left < kNarrowest || whole_word);
  const auto lines =
      wrap(sentence, {.first = below ? left_of(hang) : left,
                      .rest = left_of(hang),
                      .max_lines = verbose() ? 0 : max_lines,
                      .long_words = verbose() ? LongWords::keep : LongWords::shorten});
  const std::string first = lead.before + paint(lead.word, lead.tone, options_.color) + lead.after;
  line(trim_end(below ? first : first + lines.front()));
  const std::string indent(hang, ' ');
  for (std::size_t i = below ? 0 : 1; i < lines.size(); ++i) line(indent + lines[i]);
}

void TextWriter::labelled(std::string_view label, std::string_view sentence,
                          std::size_t max_lines) {
  entry({.before = pad(label, kTextColumn)}, sentence, max_lines);
}

void TextWriter::path_line(const Lead& lead, std::string_view path, std::string_view after) {
  const std::size_t width =
      display_width(lead.before) + display_width(lead.word) + display_width(lead.after);
  const std::size_t left = left_of(width + display_width(after));
  const std::string first = lead.before + paint(lead.word, lead.tone, options_.color) + lead.after;
  const bool below = display_width(path) > left && (verbose() || left < kUsefulColumns);
  if (!below) {
    line(trim_end(first + shorten_path(path, left).append(after)));
    return;
  }
  line(trim_end(first + std::string(trim(after))));
  line(std::string(kTextColumn, ' ') +
       (verbose() ? std::string(path) : shorten_path(path, left_of(kTextColumn))));
}

void write_left_out(TextWriter& writer, std::string_view label, Listed list) {
  if (list.shown >= list.all) return;
  const std::string count = std::to_string(list.all - list.shown);
  writer.labelled(list.shown == 0 ? label : "",
                  count + (list.shown == 0 ? " with -v" : " more with -v"));
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
