// Does it work: the stages of the probe, and the ways to share device memory.
#include <algorithm>

#include "cudart_doctor/base/text.hpp"
#include "render/describe.hpp"
#include "render/html_writer.hpp"
#include "render/names.hpp"
#include "render/view.hpp"

namespace cudart_doctor {
namespace {

std::string output_part(std::string_view who, const ChildEnd& end) {
  const std::string_view text = trim(end.output);
  if (text.empty()) return {};
  std::string out = "<p>" + std::string(who) + " printed:</p><pre>";
  for (const std::string_view line : split(text, '\n')) {
    out += html_escaped(escape_foreign(line)) + "\n";
  }
  return out + "</pre>";
}

std::string runtime_title(const Report& report, const ProbedRuntime& runtime) {
  const auto refs = candidate_refs(report);
  const std::string ref = runtime.candidate < refs.size() ? refs[runtime.candidate] : "?";
  std::string out = "<h3>" + ref + " " + html_code(escape_foreign(base_name(runtime.path)));
  if (runtime.look_alike) out += " (look-alike)";
  return out + "</h3>";
}

void write_runtime(HtmlWriter& page, const Report& report, const ProbedRuntime& runtime) {
  page.raw(runtime_title(report, runtime));
  if (!runtime.skipped.empty()) page.paragraph("skipped: " + escape_foreign(runtime.skipped));
  if (runtime.alone) page.paragraph("in a pair of its own");
  if (!runtime.missing.empty()) {
    page.paragraph("lacks " + escape_foreign(join(runtime.missing, ", ")));
  }
  for (const auto& where : runtime.elsewhere) page.paragraph("elsewhere: " + escape_foreign(where));
  if (!runtime.stages.empty()) {
    page.begin_table("stages", {"Stage", "Result", "Seen"});
    const std::size_t shown = std::min(runtime.stages.size(), HtmlWriter::kMaxItems);
    for (std::size_t i = 0; i < shown; ++i) {
      const StageResult& stage = runtime.stages[i];
      page.row({html_escaped(stage_place(stage)), html_mark(mark_of(stage.outcome)),
                html_sentence(stage_facts(stage))});
    }
    page.end_table();
  }
  const std::string output =
      output_part("The exporter", runtime.exporter) + output_part("The importer", runtime.importer);
  if (!output.empty()) page.raw("<div class=\"output\">" + output + "</div>");
}

void write_devices(HtmlWriter& page, const ProbeFacts& probe) {
  std::vector<std::string> lines;
  for (const ProbeDevice& device : probe.devices) {
    lines.push_back("GPU " + std::to_string(device.ordinal) + ": " + escape_foreign(device.name) +
                    ", sm_" + std::to_string(device.capability_major) +
                    std::to_string(device.capability_minor) + ", " + escape_foreign(device.uuid) +
                    (device.image.empty() ? "" : ", kernels as " + escape_foreign(device.image)));
  }
  if (probe.driver) {
    lines.push_back("driver " + escape_foreign(probe.driver->path) + ", CUDA " +
                    std::to_string(probe.driver->version / 1000) + "." +
                    std::to_string(probe.driver->version % 1000 / 10));
  }
  if (!lines.empty()) page.fact("On", HtmlWriter::list("ul", lines));
}

void write_sharing(HtmlWriter& page, const ProbeVerdict& verdict) {
  if (verdict.mechanisms.empty()) return;
  page.raw("<h3>Ways to share device memory</h3>");
  page.begin_table("shares", {"Mechanism", "Result", "Who needs it, and why not"});
  for (const MechanismVerdict& each : verdict.mechanisms) {
    page.row({html_escaped(title_of(each.mechanism)), html_mark(sharing_mark(each)),
              html_sentence(sharing_text(each))});
  }
  page.end_table();
}

}  // namespace

void html_probe(HtmlWriter& page, const Report& report) {
  const ProbeVerdict& verdict = report.probe_verdict;
  const ProbeFacts& probe = report.snapshot.probe;
  if (verdict.sentence.empty()) return;
  page.begin_section("probe", "Probe");
  page.paragraph(printable(verdict.sentence));
  if (probe.decision == ProbeDecision::run) {
    page.raw("<dl>");
    page.fact_text("Cause", printable(verdict.cause));
    page.fact_text("Fix", printable(verdict.remedy));
    if (!probe.differences.empty()) {
      page.fact("Differs", HtmlWriter::list("ul", probe.differences));
    }
    write_devices(page, probe);
    page.fact_text("Took", std::to_string(probe.milliseconds) + " ms");
    page.raw("</dl>");
    for (const ProbedRuntime& runtime : probe.runtimes) write_runtime(page, report, runtime);
    write_sharing(page, verdict);
  }
  page.end_section();
}

}  // namespace cudart_doctor
