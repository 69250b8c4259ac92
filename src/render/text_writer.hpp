// The lines of the text report: a lead (label, marks) and a sentence that wraps behind it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/model/report.hpp"
#include "render/phrases.hpp"
#include "render/style.hpp"

namespace cudart_doctor {

/// Column at which the text behind labels and marks begins.
inline constexpr std::size_t kTextColumn = 9;

/// What stands before a sentence: plain text around one word that may be coloured.
struct Lead {
  std::string before{};
  std::string word{};
  Tone tone = Tone::plain;
  std::string after{};
  std::size_t hang = kTextColumn;  ///< Indent of the lines that follow the first one.
};

class TextWriter {
 public:
  explicit TextWriter(const TextOptions& options) : options_(options) {}

  void blank() { out_ += '\n'; }
  /// A line as it stands.
  void line(std::string_view text) { out_.append(text).append("\n"); }
  /// `sentence` (printable) behind `lead`, wrapped, at most `max_lines` long unless verbose.
  void entry(const Lead& lead, std::string_view sentence, std::size_t max_lines = kMaxLines);
  /// As entry, with a label of the report's left column ("EFFECT").
  void labelled(std::string_view label, std::string_view sentence,
                std::size_t max_lines = kMaxLines);
  /// A path on a line of its own, `after` behind it: shortened to fit, whole when verbose.
  void path_line(const Lead& lead, std::string_view path, std::string_view after);

  [[nodiscard]] bool verbose() const { return options_.verbose; }
  [[nodiscard]] Detail detail() const { return options_.verbose ? Detail::full : Detail::brief; }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  static constexpr std::size_t kMaxLines = 6;  // Nothing foreign may flood the screen.
  TextOptions options_;
  std::string out_;
};

Tone tone_of(Severity severity);
/// "CRITICAL"
std::string severity_word(Severity severity);

/// The parts of the report below its head, in their order.
void write_runtimes(TextWriter& writer, const Report& report);
void write_companions(TextWriter& writer, const Report& report);
void write_answers(TextWriter& writer, const Report& report);
void write_probe(TextWriter& writer, const Report& report);
void write_peers(TextWriter& writer, const Report& report);
void write_unseen(TextWriter& writer, const Report& report);
void write_read(TextWriter& writer, const Report& report);

}  // namespace cudart_doctor
