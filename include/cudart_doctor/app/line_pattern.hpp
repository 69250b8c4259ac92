// A pattern that lines of output are compared with: an extended regular expression as of `grep -E`,
// over bytes. Without back-references, so that no line takes longer than its length is worth.
#pragma once

#include <regex.h>

#include <memory>
#include <string>
#include <string_view>

#include "cudart_doctor/base/result.hpp"

namespace cudart_doctor {

class LinePattern {
 public:
  /// Errors: usage (a sentence that names the pattern and what is wrong with it).
  static Result<LinePattern> compile(const std::string& pattern);
  /// Whether the pattern is found anywhere in `line`.
  [[nodiscard]] bool matches(std::string_view line) const;

 private:
  struct Free {
    void operator()(regex_t* regex) const;
  };
  explicit LinePattern(std::unique_ptr<regex_t, Free> regex) : regex_(std::move(regex)) {}
  std::unique_ptr<regex_t, Free> regex_;
};

}  // namespace cudart_doctor
