// The lines of the text report: a lead (label, marks) and a sentence that wraps behind it.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
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

/// How much of each list is shown unless verbose. A report that would be longer than a screen is
/// made again in less room. Of a list in no room its length is told.
struct Room {
  static constexpr std::size_t kAll = 4096;
  std::size_t evidence = 2;           ///< Facts of the headline's finding.
  std::size_t further = 5;            ///< Further findings.
  std::size_t installed = 4;          ///< Runtimes on disk that are not mapped.
  std::size_t companions = 4;         ///< Drivers and such.
  std::size_t unknown_rules = 4;      ///< Failing rules whose consumer may not even be here.
  std::size_t reason_lines = 3;       ///< Lines of what a rule's failure says.
  std::size_t sentence_lines = kAll;  ///< Lines of any sentence.
  std::size_t fixes = kAll;           ///< Remedies of the headline's finding.
  std::size_t no_help = kAll;         ///< What does not help against it.
  std::size_t ended = kAll;           ///< Allowances that ended.
  std::size_t loads = 3;              ///< What was opened in the environment alone.
  std::size_t allowed = kAll;         ///< Findings that are allowed.
  std::size_t mapped = kAll;          ///< Runtimes that are mapped.
  std::size_t detail_lines = 4;       ///< Lines of what is known of a runtime.
  std::size_t answers = kAll;         ///< Rules that are told.
  std::size_t probe_rows = kAll;      ///< Rows below the probe's sentence.
  std::size_t peers = kAll;           ///< Processes named with --peer.
  std::size_t unseen = kAll;          ///< What could not be seen.
  std::size_t processes = 4;          ///< Other processes of a command, alike ones together.
  std::size_t events = 6;             ///< Loads of a command.
  std::size_t story_lines = 8;        ///< Lines of a command's story.
};

class TextWriter {
 public:
  explicit TextWriter(TextOptions options, Room room = {})
      : options_(std::move(options)), room_(room) {}

  void blank() { out_ += '\n'; }
  /// A line as it stands.
  void line(std::string_view text) { out_.append(text).append("\n"); }
  /// A title of a part, wrapped where the terminal is narrow.
  void title(std::string_view text) { entry({.hang = 1}, text); }
  /// `sentence` (printable) behind `lead`, wrapped, at most `max_lines` long unless verbose.
  void entry(const Lead& lead, std::string_view sentence, std::size_t max_lines = kMaxLines);
  /// As entry, with a label of the report's left column ("EFFECT").
  void labelled(std::string_view label, std::string_view sentence,
                std::size_t max_lines = kMaxLines);
  /// As labelled, in up to `max_lines` lines even where other sentences have fewer.
  void labelled_whole(std::string_view label, std::string_view sentence, std::size_t max_lines);
  /// A path on a line of its own, `after` behind it: shortened to fit; when verbose whole, below
  /// the lead where it does not fit behind it.
  void path_line(const Lead& lead, std::string_view path, std::string_view after);

  [[nodiscard]] bool verbose() const { return options_.verbose; }
  [[nodiscard]] Color color() const { return options_.color; }
  [[nodiscard]] std::size_t columns() const { return options_.columns; }
  [[nodiscard]] const std::string& explain_selection() const { return options_.explain_selection; }
  [[nodiscard]] const std::optional<std::string>& recording_folder() const {
    return options_.recording_folder;
  }
  [[nodiscard]] const Room& room() const { return room_; }
  /// How many of `count` items are shown where `most` are without -v.
  [[nodiscard]] std::size_t shown(std::size_t count, std::size_t most) const {
    return verbose() ? count : std::min(count, most);
  }
  [[nodiscard]] Detail detail() const { return options_.verbose ? Detail::full : Detail::brief; }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  static constexpr std::size_t kMaxLines = 6;  // Nothing foreign may flood the screen.
  /// Columns behind `used` ones.
  [[nodiscard]] std::size_t left_of(std::size_t used) const {
    return used < options_.columns ? options_.columns - used : 0;
  }
  void write(const Lead& lead, std::string_view sentence, std::size_t max_lines);
  TextOptions options_;
  Room room_;
  std::string out_;
};

/// How many of a list's items there are and were written.
struct Listed {
  std::size_t all = 0;
  std::size_t shown = 0;
};
/// What of a list had no room: "2 more with -v"; its length behind `label` where nothing had.
void write_left_out(TextWriter& writer, std::string_view label, Listed list);

Tone tone_of(Severity severity);
/// "CRITICAL"
std::string severity_word(Severity severity);

/// The first lines: how grave, which process, where; then the answer.
void write_head(TextWriter& writer, const Report& report);

/// Effect, owner, what was seen, remedies of the finding that leads a report, in this room.
void write_main_finding(TextWriter& writer, const Finding& finding);
/// The same, with `owner` (printable) in place of what its owner alone advises.
void write_main_finding(TextWriter& writer, const Finding& finding, std::string_view owner);

/// Of a command that was recorded: how the library that matters came in, what the command did, what
/// became of its other processes.
void write_story(TextWriter& writer, const Report& report);

/// The parts of the report below the findings, in their order.
void write_runtimes(TextWriter& writer, const Report& report);
void write_companions(TextWriter& writer, const Report& report);
/// What a command loaded, in order.
void write_loads(TextWriter& writer, const Report& report);
void write_answers(TextWriter& writer, const Report& report);
/// The rules that write_answers shows in this room, unless verbose.
std::vector<const Selection*> answers_in(const Report& report, const Room& room);
/// How rules decided, step by step: those that were asked for, or all when verbose.
void write_selections(TextWriter& writer, const Report& report);
void write_probe(TextWriter& writer, const Report& report);
void write_peers(TextWriter& writer, const Report& report);
void write_unseen(TextWriter& writer, const Report& report);
void write_read(TextWriter& writer, const Report& report);

}  // namespace cudart_doctor
