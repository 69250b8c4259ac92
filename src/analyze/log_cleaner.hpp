// Takes out of a log what terminals and encodings put between its letters: control sequences and
// NULs (UTF-16 of ASCII is read as well).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cudart_doctor {

class LogCleaner {
 public:
  /// The next bytes of the log without them; valid as long as `bytes` and until the next call.
  /// Line ends are never taken out. A sequence may go on in the next call.
  std::string_view clean(std::string_view bytes);

 private:
  enum class Mode : std::uint8_t { text, escape, control, string, string_escape };

  std::size_t leave_sequence(std::string_view bytes, std::size_t at);
  void take_escaped(char letter);

  Mode mode_ = Mode::text;
  std::size_t escape_size_ = 0;
  std::string kept_;
};

}  // namespace cudart_doctor
