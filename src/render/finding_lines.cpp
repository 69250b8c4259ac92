#include <string_view>
#include <vector>

#include "render/render_parts.hpp"
#include "render/style.hpp"

namespace cudart_doctor {
namespace {

std::string labelled_lines(std::string_view label, const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) {
    out.append("\n").append(label).append(" ").append(printable(item));
  }
  return out;
}

}  // namespace

std::string finding_lines(const Finding& finding) {
  std::string out = printable(finding.headline);
  if (!finding.effect.empty()) out += "\nEFFECT " + printable(finding.effect);
  return out + labelled_lines("SEEN", finding.evidence) + labelled_lines("FIX", finding.fixes) +
         labelled_lines("NO HELP", finding.no_help);
}

}  // namespace cudart_doctor
