// The recorder's end of the socket. Every wait is bounded: a process must not hang because the
// launcher does.
#pragma once

#include <cstdint>
#include <string_view>

namespace cudart_doctor::recorder {

enum class Answer : std::uint8_t { none, proceed, hold };

class Connection {
 public:
  /// Sends one record, over a new connection where none is open. False where it was not sent.
  bool send(std::string_view record);
  /// Lets the next connection be waited for though one was in vain: for last words.
  void insist() { given_up_ = false; }
  /// Waits for the answer to a `sync` that was sent.
  Answer wait();
  void close();
  /// Whether the launcher was once waited for in vain; nothing is waited for since.
  [[nodiscard]] bool given_up() const { return given_up_; }

 private:
  bool open();
  /// The kernel's answer.
  [[nodiscard]] long transmit(std::string_view record) const;
  /// True also where the connection broke.
  [[nodiscard]] bool hears_within_a_second() const;
  // Zero to begin with, like all of the recorder: so it takes no room in the library's file.
  bool is_open_ = false;
  int fd_ = 0;
  bool given_up_ = false;
};

}  // namespace cudart_doctor::recorder
