// The head of the text report: how grave, which process, on which node and cards; then the answer.
#include "cudart_doctor/analyze/timeline.hpp"
#include "cudart_doctor/base/text.hpp"
#include "render/describe.hpp"
#include "render/run_phrases.hpp"
#include "render/text_writer.hpp"
#include "render/view.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kMaxHost = 24;      // Columns of the host name.
constexpr std::size_t kMaxGpus = 3;       // UUIDs on the second line, unless verbose.
constexpr std::size_t kFewestTitle = 21;  // Columns of a title that still tell a rank.
constexpr std::size_t kShortUuid = 12;    // "GPU-" and eight digits: told apart on any node.
constexpr std::string_view kGap = "  ";

/// "pid 4121 (inside: 77) sglang::scheduler_TP0"
std::string who_of(const Snapshot& snapshot) {
  if (snapshot.environment_only) return "environment only: no program was started";
  if (nobody_judged(snapshot)) return "command " + command_title(*snapshot.recording.get());
  const ProcessFacts& process = snapshot.process;
  std::string out = "pid " + std::to_string(process.pid);
  const auto inner = inner_pid(process);
  if (inner && *inner != process.pid) out += " (inside: " + std::to_string(*inner) + ")";
  return std::string(trim(out + " " + process_title(process)));
}

std::string short_uuid(const std::string& uuid) {
  return uuid.starts_with("GPU-") ? escape_foreign(std::string_view(uuid).substr(0, kShortUuid))
                                  : escape_foreign(uuid);
}

/// "GPU-cc1d84a2, GPU-0b1c2d3e and 6 more"
std::string gpus_text(const TextWriter& writer, const ProcessGpus& gpus, std::size_t most) {
  std::string out;
  const std::size_t shown = writer.shown(gpus.uuids.size(), most);
  for (std::size_t i = 0; i < shown; ++i) {
    if (i != 0) out += ", ";
    out += writer.verbose() ? escape_foreign(gpus.uuids[i]) : short_uuid(gpus.uuids[i]);
  }
  if (shown < gpus.uuids.size()) {
    out += " and " + std::to_string(gpus.uuids.size() - shown) + " more";
  }
  return out;
}

/// Everything on one line where it fits; else the title first and the place below it.
void write_process(TextWriter& writer, const Report& report) {
  const VerdictView word = verdict_view(report);
  const std::string id = word.id.empty() ? "" : " " + word.id;
  const std::string lead = paint(word.word, word.tone, writer.color()) + id;
  const std::size_t before = display_width(word.word) + display_width(id) + kGap.size();
  const std::size_t left = writer.columns() > before ? writer.columns() - before : 0;
  const std::string who = who_of(report.snapshot);
  const ProcessGpus gpus = gpus_of(report.snapshot);
  const std::string& host = report.snapshot.host.name;
  std::vector<std::string> places;
  if (!host.empty()) places.push_back("node " + cut_middle(escape_foreign(host), kMaxHost));
  if (!gpus.uuids.empty()) places.push_back(gpus_text(writer, gpus, 1));
  const std::string place = join(places, kGap);
  const std::size_t width = place.empty() ? 0 : display_width(place) + kGap.size();
  // A node's name alone is not worth a line: a long command line is cut for it.
  const bool cuts_little = gpus.uuids.empty() && left >= width + kFewestTitle;
  if (width == 0 || display_width(who) + width <= left || cuts_little) {
    const std::string gap(width == 0 ? std::string_view() : kGap);
    writer.line(lead + std::string(kGap) + cut_end(who, left - width) + gap + place);
    return;
  }
  writer.line(lead + std::string(kGap) + cut_end(who, left));
  if (!gpus.uuids.empty()) places.back() = gpus_text(writer, gpus, kMaxGpus);
  writer.labelled("", join(places, "; "));
}

}  // namespace

void write_head(TextWriter& writer, const Report& report) {
  write_process(writer, report);
  writer.entry({.hang = 0}, headline_sentence(report));
  // What a finding leads to needs no words here: RUN has them.
  const Recording* recording = report.snapshot.recording.get();
  if (recording != nullptr && !leads_with_finding(report)) {
    const std::string trouble = trouble_sentence(*recording);
    if (!trouble.empty()) writer.entry({.hang = 0}, trouble);
  }
  // "OK" says what was found; that nothing was run must not be missed.
  if (report.snapshot.probe.decision == ProbeDecision::refused) {
    writer.entry({.hang = 0}, "Not tested on a GPU: see PROBE below.");
  }
}

}  // namespace cudart_doctor
