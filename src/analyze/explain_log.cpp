// Takes what terminals and encodings add out of a log, passes over the lines in which nothing
// known can be, and asks the matcher for the first known text of the others.
#include "cudart_doctor/analyze/explain_log.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "cudart_doctor/analyze/cuda_codes.hpp"
#include "cudart_doctor/base/count_bytes.hpp"
#include "log_cleaner.hpp"
#include "pattern_filter.hpp"
#include "text_matcher.hpp"

namespace cudart_doctor {
namespace {

/// A longer line is looked at in pieces, each with the end of the one before in front of it.
constexpr std::size_t kPiece = 16U * 1024;
constexpr std::size_t kOverlap = 1024;
/// Bytes that are worked on at once: they stay in the processor's cache.
constexpr std::size_t kBlock = 128U * 1024;

/// How libraries announce a code; the number, or the text, follows.
constexpr std::array<std::string_view, 18> kNumberLeads = {
    "cuda error ",          "cuda error: ",       "cuda error code ",   "cuda error code: ",
    "cuda error code=",     "cuda error: error ", "cuda error (",       "cuda failure ",
    "cuda failure: ",       "cuda failure (",     "cuda driver error ", "cuda driver error: ",
    "cuda runtime error (", "cudaapierror: [",    "cudaerror: ",        "cudaerror(",
    "cudaerror_t(",         "cudart error: "};
constexpr std::array<std::string_view, 9> kTextLeads = {
    "cuda error", "cuda failure", "cuda driver error", "cuda runtime error", "cuda ipc",
    "cudaipc",    "cuipc",        "cudaerror",         "cudart error"};

/// Texts of other errors that begin like one of a code: the program's own fault, not a symptom.
constexpr std::array<std::string_view, 4> kInnocent = {
    "operation not permitted when stream is capturing",
    "operation not permitted on an event last recorded",
    "operation not supported on global/shared address space", "an illegal memory access"};

template <class Add>
void add_code(const Add& add, const CodeEntry& entry, std::size_t owner) {
  const std::string text(entry.text);
  if (entry.use == CodeText::alone) {
    add(text, owner);
  } else {
    for (const std::string_view lead : kTextLeads) {
      add(std::string(lead) + "*" + text, owner);
    }
  }
  for (const std::string_view name :
       {cuda_runtime_code_name(entry.code), cuda_driver_code_name(entry.code)}) {
    if (!name.empty()) add("|" + std::string(name) + "|", owner);
  }
  for (const std::string_view lead : kNumberLeads) {
    add(std::string(lead) + std::to_string(entry.code) + "|", owner);
  }
}

/// Owners are the places in signatures(), one for what is no symptom, the places in
/// code_entries().
template <class Add>
void add_known(const Add& add) {
  std::size_t owner = 0;
  for (const Signature& signature : signatures()) {
    for (const std::string_view pattern : signature.patterns) {
      if (!pattern.empty()) add(pattern, owner);
    }
    ++owner;
  }
  for (const std::string_view pattern : kInnocent) add(pattern, owner);
  for (const CodeEntry& entry : code_entries()) add_code(add, entry, ++owner);
}

/// Made when the first line asks for it: most logs hold nothing that is known.
const TextMatcher& matcher() {
  static const TextMatcher made = [] {
    TextMatcher matcher;
    add_known([&](std::string_view pattern, std::size_t owner) { matcher.add(pattern, owner); });
    matcher.build();
    return matcher;
  }();
  return made;
}

const PatternFilter& filter() {
  static const PatternFilter made = [] {
    PatternFilter filter;
    add_known([&](std::string_view pattern, std::size_t) { filter.add(pattern); });
    filter.build();
    return filter;
  }();
  return made;
}

/// The part of the line that is shown: around the hit where the line is long.
std::string shown(std::string_view line, const PatternHit& hit) {
  constexpr std::size_t kBefore = 100;
  const std::size_t begin =
      line.size() <= kShownBytes || hit.begin <= kBefore ? 0 : hit.begin - kBefore;
  return std::string(line.substr(begin, kShownBytes));
}

}  // namespace

struct LogReader::State {
  void take(std::string_view text);
  void take_lines(std::string_view lines);
  void take_part(std::string_view part);
  void add(char letter);
  void end_line();
  void next_line();
  void look(std::size_t until);

  LogCleaner cleaner;
  std::optional<MatchState> match;
  std::vector<Symptom> found =
      std::vector<Symptom>(signatures().size() + 1 + code_entries().size());
  LogAnswer answer;
  std::string line;
  std::size_t known = 0;  ///< Bytes at the front of `line` that were looked at before.
  bool line_begun = false;
};

void LogReader::State::look(std::size_t until) {
  if (until <= known || filter().find(line, 0) == std::string_view::npos) return;
  if (!match) match = matcher().make_state();
  const auto hit = matcher().find(line, {.after = known, .until = until}, *match);
  if (!hit) return;
  Symptom& symptom = found[hit->owner];
  if (symptom.count++ != 0) return;
  symptom.first_line = answer.lines + 1;
  symptom.text = shown(line, *hit);
}

void LogReader::State::end_line() {
  look(line.size());
  line.clear();
  known = 0;
}

void LogReader::State::add(char letter) {
  // A log line inside JSON or a Python repr has its line ends written out.
  if (letter == 'n' && line.size() > known && line.back() == '\\') {
    line.pop_back();
    end_line();
    return;
  }
  line += letter;
  if (line.size() < kPiece) return;
  // The last byte's successor is not known yet, and may show that a word goes on.
  look(line.size() - 1);
  line.erase(0, line.size() - kOverlap);
  known = line.size() - 1;
}

void LogReader::State::next_line() {
  end_line();
  ++answer.lines;
}

/// A part of a line, without its end.
void LogReader::State::take_part(std::string_view part) {
  for (const char letter : part) {
    if (letter == '\r') {
      end_line();  // CRLF, or a progress bar that draws over itself.
    } else {
      add(letter);
    }
  }
}

/// Whole lines with their ends: only those in which something may be are looked at.
void LogReader::State::take_lines(std::string_view lines) {
  while (true) {
    const std::size_t place = filter().find(lines, 0);
    if (place == std::string_view::npos) break;
    const std::size_t before = lines.substr(0, place).rfind('\n') + 1;
    answer.lines += count_bytes(lines.substr(0, before), '\n');
    lines.remove_prefix(before);
    const std::size_t size = lines.find('\n');
    take_part(lines.substr(0, size));
    next_line();
    lines.remove_prefix(size + 1);
  }
  answer.lines += count_bytes(lines, '\n');
}

void LogReader::State::take(std::string_view text) {
  if (line_begun) {
    const std::size_t size = text.find('\n');
    take_part(text.substr(0, size));
    if (size == std::string_view::npos) return;
    next_line();
    text.remove_prefix(size + 1);
  }
  const std::size_t whole = text.rfind('\n') + 1;
  take_lines(text.substr(0, whole));
  take_part(text.substr(whole));
}

LogReader::LogReader() : state_(std::make_unique<State>()) {}
LogReader::LogReader(LogReader&&) noexcept = default;
LogReader& LogReader::operator=(LogReader&&) noexcept = default;
LogReader::~LogReader() = default;

void LogReader::feed(std::string_view bytes) {
  state_->answer.bytes += bytes.size();
  while (!bytes.empty()) {
    const std::string_view block = bytes.substr(0, kBlock);
    state_->take(state_->cleaner.clean(block));
    state_->line_begun = !block.ends_with('\n');
    bytes.remove_prefix(block.size());
  }
}

LogAnswer LogReader::finish() {
  State& state = *state_;
  state.end_line();
  if (state.line_begun) ++state.answer.lines;
  const auto known = signatures();
  for (std::size_t i = 0; i < state.found.size(); ++i) {
    Symptom& symptom = state.found[i];
    if (symptom.count == 0 || i == known.size()) continue;
    if (i < known.size()) {
      symptom.signature = &known[i];
    } else {
      symptom.code = &code_entries()[i - known.size() - 1];
    }
    state.answer.symptoms.push_back(std::move(symptom));
  }
  return std::move(state.answer);
}

}  // namespace cudart_doctor
