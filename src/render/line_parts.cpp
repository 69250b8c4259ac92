#include "render/line_parts.hpp"

#include <array>

#include "render/names.hpp"
#include "render/style.hpp"

namespace cudart_doctor {
namespace {

/// A bar begins the performance data, and no escape for it is known.
std::string without_bars(std::string_view text) {
  std::string out;
  for (const char each : text) {
    if (each == '|') {
      out += "\\x7c";
    } else {
      out += each;
    }
  }
  return out;
}

}  // namespace

std::string shortened(std::string_view text, std::size_t room) {
  if (text.size() <= room) return std::string(text);
  // No character has more columns than bytes, so that this ends; most have one of both.
  std::size_t columns = room;
  std::string cut = cut_end(text, columns);
  while (cut.size() > room) cut = cut_end(text, --columns);
  const std::size_t blank = cut.rfind(' ');
  if (blank != std::string::npos && blank >= room / 2) return cut.substr(0, blank) + " ...";
  return cut;
}

std::string_view nagios_word(RunEnd end) {
  switch (end) {
    case RunEnd::ok: return "OK";
    case RunEnd::warned: return "WARNING";
    case RunEnd::findings: return "CRITICAL";
    case RunEnd::usage:
    case RunEnd::undecided: return "UNKNOWN";
  }
  return {};
}

std::string put_together(const Line& line, ExitStyle style) {
  const bool nagios = style == ExitStyle::nagios;
  std::string head = nagios ? "CUDART " + line.word + " - " : line.word + " ";
  if (!line.code.empty()) head += line.code + " ";
  const std::string sentence = nagios ? without_bars(line.sentence) : line.sentence;
  return head + shortened(sentence, kMaxLineBytes - head.size() - line.who.size()) + line.who;
}

std::string without_stop(std::string sentence) {
  if (sentence.ends_with('.')) sentence.pop_back();
  return sentence;
}

std::string performance_data(const std::function<std::size_t(Severity)>& count,
                             std::size_t allowed) {
  constexpr std::array kOrder = {Severity::critical, Severity::error, Severity::warning,
                                 Severity::info};
  std::string out;
  for (const Severity severity : kOrder) {
    out.append(name_of(severity)).append("=" + std::to_string(count(severity)) + ";;;0 ");
  }
  return out + "allowed=" + std::to_string(allowed) + ";;;0";
}

}  // namespace cudart_doctor
