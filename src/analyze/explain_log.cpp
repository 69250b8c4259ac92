// Splits a log into lines, takes what terminals and encodings add out of them, and asks the
// matcher for the first known text of each.
#include "cudart_doctor/analyze/explain_log.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "cudart_doctor/analyze/cuda_codes.hpp"
#include "text_matcher.hpp"

namespace cudart_doctor {
namespace {

/// A longer line is looked at in pieces, each with the end of the one before in front of it.
constexpr std::size_t kPiece = 16U * 1024;
constexpr std::size_t kOverlap = 1024;
/// A control sequence of a terminal that is longer than this is none.
constexpr std::size_t kMaxEscape = 256;

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

void add_code(TextMatcher& matcher, const CodeEntry& entry, std::size_t owner) {
  const std::string text(entry.text);
  if (entry.use == CodeText::alone) {
    matcher.add(text, owner);
  } else {
    for (const std::string_view lead : kTextLeads) {
      matcher.add(std::string(lead) + "*" + text, owner);
    }
  }
  for (const std::string_view name :
       {cuda_runtime_code_name(entry.code), cuda_driver_code_name(entry.code)}) {
    if (!name.empty()) matcher.add("|" + std::string(name) + "|", owner);
  }
  for (const std::string_view lead : kNumberLeads) {
    matcher.add(std::string(lead) + std::to_string(entry.code) + "|", owner);
  }
}

/// Owners are the places in signatures(), one for what is no symptom, the places in
/// code_entries().
TextMatcher make_matcher() {
  TextMatcher matcher;
  std::size_t owner = 0;
  for (const Signature& signature : signatures()) {
    for (const std::string_view pattern : signature.patterns) {
      if (!pattern.empty()) matcher.add(pattern, owner);
    }
    ++owner;
  }
  for (const std::string_view pattern : kInnocent) matcher.add(pattern, owner);
  for (const CodeEntry& entry : code_entries()) add_code(matcher, entry, ++owner);
  matcher.build();
  return matcher;
}

const TextMatcher& matcher() {
  static const TextMatcher made = make_matcher();
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
  enum class Mode : std::uint8_t { text, escape, control, string, string_escape };

  void take(char letter);
  void take_escaped(char letter);
  void add(char letter);
  void end_line();
  void look(std::size_t until);

  MatchState match = matcher().make_state();
  std::vector<Symptom> found =
      std::vector<Symptom>(signatures().size() + 1 + code_entries().size());
  LogAnswer answer;
  std::string line;
  std::size_t known = 0;  ///< Bytes at the front of `line` that were looked at before.
  Mode mode = Mode::text;
  std::size_t escape_size = 0;
  std::uint64_t number = 1;
  bool line_begun = false;
};

void LogReader::State::look(std::size_t until) {
  if (until <= known) return;
  const auto hit = matcher().find(line, {.after = known, .until = until}, match);
  if (!hit) return;
  Symptom& symptom = found[hit->owner];
  if (symptom.count++ != 0) return;
  symptom.first_line = number;
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

/// Inside a terminal's control sequence, which is left out.
void LogReader::State::take_escaped(char letter) {
  const bool too_long = ++escape_size > kMaxEscape;
  switch (mode) {
    case Mode::text: return;
    case Mode::escape:
      mode = letter == '[' ? Mode::control : letter == ']' ? Mode::string : Mode::text;
      return;
    case Mode::control:
      if (too_long || (letter >= 0x40 && letter <= 0x7e)) mode = Mode::text;
      return;
    case Mode::string:
      if (letter == '\x1b') mode = Mode::string_escape;
      if (too_long || letter == '\a') mode = Mode::text;
      return;
    case Mode::string_escape: mode = Mode::text; return;
  }
}

void LogReader::State::take(char letter) {
  line_begun = true;
  if (letter == '\n') {
    mode = Mode::text;  // No sequence goes over the end of a line.
    end_line();
    ++number;
    ++answer.lines;
    line_begun = false;
  } else if (mode != Mode::text) {
    take_escaped(letter);
  } else if (letter == '\x1b') {
    mode = Mode::escape;
    escape_size = 0;
  } else if (letter == '\r') {
    end_line();  // CRLF, or a progress bar that draws over itself.
  } else if (letter != '\0') {
    add(letter);  // NULs are left out: UTF-16 of ASCII is read as well.
  }
}

LogReader::LogReader() : state_(std::make_unique<State>()) {}
LogReader::LogReader(LogReader&&) noexcept = default;
LogReader& LogReader::operator=(LogReader&&) noexcept = default;
LogReader::~LogReader() = default;

void LogReader::feed(std::string_view bytes) {
  state_->answer.bytes += bytes.size();
  for (const char letter : bytes) state_->take(letter);
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
