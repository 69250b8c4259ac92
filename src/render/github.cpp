// Workflow commands of GitHub Actions. A command is one line: what would end it or one of its
// properties is written as %XX.
#include "cudart_doctor/base/text.hpp"
#include "render/names.hpp"
#include "render/render_parts.hpp"
#include "render/style.hpp"

namespace cudart_doctor {
namespace {

std::string encoded(std::string_view text, std::string_view special) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char each : text) {
    if (special.find(each) == std::string_view::npos) {
      out += each;
      continue;
    }
    const auto byte = static_cast<unsigned char>(each);
    out += '%';
    out += kDigits[byte >> 4U];
    out += kDigits[byte & 15U];
  }
  return out;
}

struct Annotation {
  std::string_view level;  ///< "error", "warning", "notice"
  std::string title;       ///< Printable, one line.
  std::string text;        ///< Printable lines.
};

std::string command(const Annotation& annotation) {
  return std::string("::")
      .append(annotation.level)
      .append(" title=")
      .append(encoded(annotation.title, "%\r\n:,"))
      .append("::")
      .append(encoded(annotation.text, "%\r\n"))
      .append("\n");
}

/// What fails the run is an error, whatever its severity is called.
std::string_view level_of(const Finding& finding, Severity fail_on) {
  if (finding.severity >= fail_on) return "error";
  return finding.severity == Severity::info ? "notice" : "warning";
}

}  // namespace

std::string render_github(const Report& report) {
  std::string out;
  if (report.verdict.end == RunEnd::undecided) {
    out +=
        command({"error", "cudart-doctor: could not decide", printable(report.verdict.undecided)});
  }
  for (const Finding& finding : report.findings) {
    if (!finding.allowed.empty()) continue;
    out += command({level_of(finding, report.verdict.fail_on),
                    printable(finding.id) + " " + printable(finding.slug), finding_lines(finding)});
  }
  for (const std::string& ended : report.allowances.ended) {
    out += command({"notice", "cudart-doctor: an allowance has ended", printable(ended)});
  }
  return out;
}

std::string render_error_github(const Failure& failure) {
  return command({"error", "cudart-doctor: no report", printable(failure.error.message)});
}

}  // namespace cudart_doctor
