#include "cudart_doctor/app/line_pattern.hpp"

#include <array>

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kLongestPattern = 4096;

/// Whether `pattern` has \1 to \9, outside of which glibc matches in linear time.
bool refers_back(std::string_view pattern) {
  for (std::size_t i = 0; i + 1 < pattern.size(); ++i) {
    if (pattern[i] != '\\') continue;
    ++i;
    if (pattern[i] >= '1' && pattern[i] <= '9') return true;
  }
  return false;
}

}  // namespace

void LinePattern::Free::operator()(regex_t* regex) const {
  ::regfree(regex);
  delete regex;
}

Result<LinePattern> LinePattern::compile(const std::string& pattern) {
  const std::string shown = "'" + escape_foreign(pattern.substr(0, 80)) + "'";
  if (pattern.size() > kLongestPattern) {
    return fail(ErrorKind::usage, shown + " is longer than 4096 bytes");
  }
  if (refers_back(pattern)) {
    return fail(ErrorKind::usage, shown + ": back-references are not supported");
  }
  auto memory = std::make_unique<regex_t>();
  const int code = ::regcomp(memory.get(), pattern.c_str(), REG_EXTENDED | REG_NOSUB);
  if (code != 0) {
    std::array<char, 256> reason = {};
    ::regerror(code, memory.get(), reason.data(), reason.size());
    return fail(ErrorKind::usage, shown + " is no regular expression: " + reason.data());
  }
  return LinePattern(std::unique_ptr<regex_t, Free>(memory.release()));
}

bool LinePattern::matches(std::string_view line) const {
  // REG_STARTEND: lines need no NUL behind them, and may hold some.
  regmatch_t range = {0, static_cast<regoff_t>(line.size())};
  return ::regexec(regex_.get(), line.data(), 1, &range, REG_STARTEND) == 0;
}

}  // namespace cudart_doctor
