// Answers that the page formats (Markdown, HTML) draw in their own ways.
#pragma once

#include <string>
#include <vector>

#include "cudart_doctor/model/report.hpp"
#include "render/phrases.hpp"

namespace cudart_doctor {

/// The verdict in a word, and the finding that it follows.
struct VerdictView {
  std::string word;  ///< "CRITICAL", "OK", "UNDECIDED"; "NO FINDING" of a command that failed
  std::string id;    ///< "RT04", printable; "" where no finding leads.
  Tone tone = Tone::plain;
};
VerdictView verdict_view(const Report& report);

/// "ok", "FAIL", "not run"; a mechanism that the card need not offer is "no" at most.
Mark sharing_mark(const MechanismVerdict& verdict);
/// Who needs it and why it does not work, printable; may be empty.
std::string sharing_text(const MechanismVerdict& verdict);

/// A loaded object that uses a candidate.
struct Loader {
  std::string name;    ///< File name, printable.
  bool needs = false;  ///< Its DT_NEEDED leads to the candidate.
  bool bound = false;  ///< Slots of its global offset table point into it now.
};

/// Who needs or uses the candidate with this index, in the order of the objects, each once.
std::vector<Loader> loaders_of(const Report& report, std::size_t candidate);

}  // namespace cudart_doctor
