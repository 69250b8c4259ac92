#include "log_cleaner.hpp"

#include <algorithm>

namespace cudart_doctor {
namespace {

/// A control sequence of a terminal that is longer than this is none.
constexpr std::size_t kMaxEscape = 256;

/// Where a letter comes next; each part of the text is searched once.
class Next {
 public:
  Next(std::string_view text, char letter) : text_(text), letter_(letter) {}
  std::size_t from(std::size_t at) {
    if (place_ < at || !asked_) place_ = std::min(text_.find(letter_, at), text_.size());
    asked_ = true;
    return place_;
  }

 private:
  std::string_view text_;
  char letter_;
  std::size_t place_ = 0;
  bool asked_ = false;
};

}  // namespace

/// Inside a terminal's control sequence, which is left out.
void LogCleaner::take_escaped(char letter) {
  const bool too_long = ++escape_size_ > kMaxEscape;
  switch (mode_) {
    case Mode::text: return;
    case Mode::escape:
      mode_ = letter == '[' ? Mode::control : letter == ']' ? Mode::string : Mode::text;
      return;
    case Mode::control:
      if (too_long || (letter >= 0x40 && letter <= 0x7e)) mode_ = Mode::text;
      return;
    case Mode::string:
      if (letter == '\x1b') mode_ = Mode::string_escape;
      if (too_long || letter == '\a') mode_ = Mode::text;
      return;
    case Mode::string_escape: mode_ = Mode::text; return;
  }
}

/// Where text begins again. No sequence goes over the end of a line.
std::size_t LogCleaner::leave_sequence(std::string_view bytes, std::size_t at) {
  for (; at < bytes.size() && mode_ != Mode::text; ++at) {
    if (bytes[at] == '\n') {
      mode_ = Mode::text;
      break;
    }
    take_escaped(bytes[at]);
  }
  return at;
}

std::string_view LogCleaner::clean(std::string_view bytes) {
  Next escape(bytes, '\x1b');
  Next nul(bytes, '\0');
  if (mode_ == Mode::text && escape.from(0) == bytes.size() && nul.from(0) == bytes.size()) {
    return bytes;
  }
  kept_.clear();
  std::size_t at = leave_sequence(bytes, 0);
  while (at < bytes.size()) {
    const std::size_t end = std::min(escape.from(at), nul.from(at));
    kept_ += bytes.substr(at, end - at);
    if (end < bytes.size() && bytes[end] == '\x1b') {
      mode_ = Mode::escape;
      escape_size_ = 0;
    }
    at = end == bytes.size() ? end : leave_sequence(bytes, end + 1);
  }
  return kept_;
}

}  // namespace cudart_doctor
