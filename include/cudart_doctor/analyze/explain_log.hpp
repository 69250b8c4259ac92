// Recognises known error texts in a log, however it is cut, coloured or broken. One pass, linear
// in the bytes; memory does not grow with the log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/analyze/explain.hpp"

namespace cudart_doctor {

/// One symptom of a log; exactly one of the two pointers is set.
struct Symptom {
  const Signature* signature = nullptr;
  const CodeEntry* code = nullptr;
  std::uint64_t count = 0;       ///< How many lines (or pieces of very long lines) hold it.
  std::uint64_t first_line = 0;  ///< Counted from 1.
  std::string text;              ///< From the first of them, as bytes, at most kShownBytes.
};

struct LogAnswer {
  std::uint64_t bytes = 0;
  std::uint64_t lines = 0;
  std::vector<Symptom> symptoms;  ///< Most specific first, bare codes last.
};

/// More of a line than this is not kept.
inline constexpr std::size_t kShownBytes = 400;

class LogReader {
 public:
  LogReader();
  LogReader(const LogReader&) = delete;
  LogReader(LogReader&&) noexcept;
  LogReader& operator=(const LogReader&) = delete;
  LogReader& operator=(LogReader&&) noexcept;
  ~LogReader();

  /// The next bytes of the log; a line may go on in the next call.
  void feed(std::string_view bytes);
  /// What was found. Nothing may be fed afterwards.
  LogAnswer finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace cudart_doctor
