#include "cudart_doctor/analyze/tree.hpp"
#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/render/tree.hpp"
#include "render/line_parts.hpp"
#include "render/names.hpp"
#include "render/text_writer.hpp"
#include "render/tree_words.hpp"

namespace cudart_doctor {
namespace {

std::size_t count_judged(const TreeReport& report) {
  return count_states(report.processes)[static_cast<std::size_t>(ProcessState::judged)];
}

/// " (pid 4123, 16 with CUDA)"
std::string who_of(const TreeReport& report) {
  const std::string count = std::to_string(count_judged(report)) + " with CUDA)";
  if (!leads_with_finding(report)) return " (" + count;
  return " (pid " + std::to_string(report.processes[*report.lead].facts.pid) + ", " + count;
}

Line line_of(const TreeReport& report) {
  Line line;
  line.who = who_of(report);
  if (report.end == RunEnd::undecided) {
    line.word = "UNKNOWN";
    line.sentence = without_stop(printable(report.undecided));
  } else if (leads_with_finding(report)) {
    const Finding& finding = report.processes[*report.lead].verdict->lead;
    line.word = severity_word(finding.severity);
    line.code = printable(finding.id);
    line.sentence = without_stop(printable(finding.headline));
  } else {
    line.word = "OK";
    line.sentence = without_stop(tree_sentence(report));
    const std::vector<std::string> ids = allowed_ids(report);
    if (!ids.empty()) line.sentence += "; allowed: " + join(ids, ", ");
    line.who.clear();
  }
  if (report.exit_style == ExitStyle::nagios) line.word = nagios_word(report.end);
  return line;
}

}  // namespace

std::string render_tree_line(const TreeReport& report) {
  std::string line = put_together(line_of(report), report.exit_style);
  if (report.exit_style == ExitStyle::nagios && report.end != RunEnd::undecided) {
    line += " | " +
            performance_data([&](Severity severity) { return count_findings(report, severity); },
                             count_allowed(report));
  }
  return line + "\n";
}

}  // namespace cudart_doctor
