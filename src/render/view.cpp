#include "render/view.hpp"

#include <map>

#include "cudart_doctor/base/text.hpp"
#include "render/describe.hpp"
#include "render/provenance_phrases.hpp"
#include "render/run_phrases.hpp"
#include "render/text_writer.hpp"

namespace cudart_doctor {
namespace {

std::string object_name(const Report& report, std::size_t index) {
  const LoadedObject* object = object_of(report, index);
  if (object == nullptr || object->path().empty()) return "(no name)";
  return escape_foreign(base_name(object->path()));
}

}  // namespace

VerdictView verdict_view(const Report& report) {
  if (report.verdict.end == RunEnd::undecided) return {"UNDECIDED", "", Tone::notice};
  if (!leads_with_finding(report)) {
    // Nothing was found, yet something is not well.
    const Recording* recording = report.snapshot.recording.get();
    const bool well = recording == nullptr || trouble_sentence(*recording).empty();
    return well ? VerdictView{"OK", "", Tone::good} : VerdictView{"NO FINDING", "", Tone::plain};
  }
  const Finding& finding = report.findings.front();
  return {severity_word(finding.severity), printable(finding.id), tone_of(finding.severity)};
}

Mark sharing_mark(const MechanismVerdict& verdict) {
  const bool unoffered =
      is_optional(verdict.mechanism) && verdict.outcome == ProbeOutcome::does_not;
  return unoffered ? Mark{"no", Tone::plain} : mark_of(verdict.outcome);
}

std::string sharing_text(const MechanismVerdict& verdict) {
  std::string out = printable(verdict.needed_by);
  if (!out.empty() && !verdict.reason.empty()) out += "; ";
  return out + printable(verdict.reason);
}

std::vector<Loader> loaders_of(const Report& report, std::size_t candidate) {
  std::map<std::size_t, Loader> by_object;
  const Provenance& origin = provenance_of(report, candidate);
  for (const NeededBy& each : origin.needed_by) by_object[each.object].needs = true;
  for (const SlotUse& each : origin.used_by) by_object[each.object].bound = true;
  std::vector<Loader> loaders;
  for (auto& [object, loader] : by_object) {
    loader.name = object_name(report, object);
    loaders.push_back(std::move(loader));
  }
  return loaders;
}

}  // namespace cudart_doctor
