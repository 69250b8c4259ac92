// PROBE and SHARING of the text report: does it work, and which ways to share memory do.
#include <algorithm>
#include <span>

#include "cudart_doctor/analyze/cuda_codes.hpp"
#include "cudart_doctor/base/text.hpp"
#include "render/describe.hpp"
#include "render/names.hpp"
#include "render/phrases.hpp"
#include "render/text_writer.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kMarkColumns = 14;  // "ok", "FAIL", "not confirmed"

}  // namespace

Mark mark_of(ProbeOutcome outcome) {
  switch (outcome) {
    case ProbeOutcome::works: return {"ok", Tone::good};
    case ProbeOutcome::does_not: return {"FAIL", Tone::bad};
    case ProbeOutcome::not_confirmed: return {"not confirmed", Tone::notice};
    case ProbeOutcome::not_run: return {"not run", Tone::notice};
  }
  return {};
}

Mark mark_of(StageOutcome outcome) {
  switch (outcome) {
    case StageOutcome::pass: return {"ok", Tone::good};
    case StageOutcome::fail: return {"FAIL", Tone::bad};
    case StageOutcome::skipped: return {"skipped", Tone::plain};
    case StageOutcome::begun: return {"ENDED", Tone::bad};
  }
  return {};
}

std::string_view title_of(Mechanism mechanism) {
  switch (mechanism) {
    case Mechanism::legacy_memory: return "CUDA IPC memory handle";
    case Mechanism::event: return "CUDA IPC event handle";
    case Mechanism::vmm_socket: return "VMM descriptor over a socket";
    case Mechanism::vmm_pidfd: return "VMM descriptor by pidfd_getfd";
    case Mechanism::fabric: return "fabric handle";
    case Mechanism::multicast: return "multicast";
    case Mechanism::legacy_on_vmm: return "CUDA IPC handle of VMM memory";
    case Mechanism::legacy_on_pool: return "CUDA IPC handle of pool memory";
    case Mechanism::legacy_on_pinned: return "CUDA IPC handle of pinned memory";
  }
  return {};
}

bool is_optional(Mechanism mechanism) {
  return mechanism == Mechanism::fabric || mechanism == Mechanism::multicast;
}

namespace {

/// "cudaIpcOpenMemHandle: 201 cudaErrorDeviceUninitialized", "" where no call is concerned.
std::string call_text(const std::string& call, std::optional<int> code) {
  std::string out = escape_foreign(call);
  if (!code || *code == 0) return out;
  if (!out.empty()) out += ": ";
  out += std::to_string(*code);
  const std::string_view name = cuda_code_name(*code, call);
  return name.empty() ? out : out + " " + std::string(name);
}

}  // namespace

std::string stage_place(const StageResult& stage) {
  std::string out(name_of(stage.stage));
  if (stage.side == ProbeSide::importer) out += " (importer)";
  if (stage.device >= 0) out += " GPU " + std::to_string(stage.device);
  if (stage.peer_device >= 0) out += " to " + std::to_string(stage.peer_device);
  return out;
}

std::string stage_facts(const StageResult& stage) {
  std::string out = call_text(stage.call, stage.code);
  const std::string detail = escape_foreign(stage.detail);
  if (!out.empty() && !detail.empty()) out += "; ";
  return out + detail;
}

namespace {

std::string stage_text(const StageResult& stage) {
  const std::string facts = stage_facts(stage);
  return facts.empty() ? stage_place(stage) : stage_place(stage) + "; " + facts;
}

const StageResult* first_bad(const ProbedRuntime& runtime) {
  const auto bad =
      std::find_if(runtime.stages.begin(), runtime.stages.end(), [](const StageResult& stage) {
        return stage.outcome == StageOutcome::fail || stage.outcome == StageOutcome::begun;
      });
  return bad == runtime.stages.end() ? nullptr : &*bad;
}

/// A look-alike that was not only asked for its symbols.
bool was_run(const ProbedRuntime& runtime) {
  return std::any_of(runtime.stages.begin(), runtime.stages.end(), [](const StageResult& stage) {
    return stage.stage > Stage::symbols && stage.outcome != StageOutcome::skipped;
  });
}

std::string names_text(const ProbedRuntime& runtime) {
  if (!runtime.missing.empty()) return "lacks " + escape_foreign(join(runtime.missing, ", "));
  return {};
}

void write_output(TextWriter& writer, std::string_view who, const ChildEnd& end) {
  if (trim(end.output).empty() || (!writer.verbose() && writer.room().probe_rows < 3)) return;
  writer.labelled("", std::string(who) + " printed: " + escape_foreign(trim(end.output)),
                  writer.verbose() ? 20 : 2);
}

void write_runtime(TextWriter& writer, const ProbedRuntime& runtime, const std::string& ref) {
  Mark mark{"ok", Tone::good};
  std::string text;
  const StageResult* const bad = first_bad(runtime);
  if (!runtime.skipped.empty()) {
    mark = {"skipped", Tone::plain};
    text = escape_foreign(runtime.skipped);
  } else if (bad != nullptr) {
    mark = mark_of(bad->outcome);
    text = stage_text(*bad);
  } else if (runtime.look_alike) {
    mark = {"look-alike", Tone::notice};
    text = was_run(runtime) ? "every stage passed" : "asked for its symbols only";
  }
  const std::string names = names_text(runtime);
  if (!names.empty() && text.find(names) == std::string::npos) {
    text += (text.empty() ? "" : "; ") + names;
  }
  for (const std::string& where : runtime.elsewhere) {
    text += (text.empty() ? "" : "; ") + escape_foreign(where);
  }
  if (runtime.alone && writer.verbose())
    text += (text.empty() ? "" : "; ") + std::string("in a pair of its own");
  writer.entry({.before = " " + pad(ref, 2),
                .word = std::string(mark.word),
                .tone = mark.tone,
                .after = "  ",
                .hang = kTextColumn},
               text);
  if (bad != nullptr || writer.verbose()) {
    write_output(writer, "exporter", runtime.exporter);
    write_output(writer, "importer", runtime.importer);
  }
  if (!writer.verbose()) return;
  for (const StageResult& stage : runtime.stages) {
    const Mark each = mark_of(stage.outcome);
    writer.entry({.before = "   ",
                  .word = std::string(each.word),
                  .tone = each.tone,
                  .after = std::string(each.word.size() < 8 ? 8 - each.word.size() : 1, ' '),
                  .hang = 11},
                 stage_text(stage));
  }
}

/// The rows below the sentence: those that say more than it does.
bool is_told(const TextWriter& writer, const ProbeFacts& probe, const ProbedRuntime& runtime) {
  if (writer.verbose() || probe.runtimes.size() > 1) return true;
  // The sentence names the first stage that failed.
  return (first_bad(runtime) != nullptr &&
          !trim(runtime.exporter.output + runtime.importer.output).empty()) ||
         !runtime.skipped.empty() || !runtime.elsewhere.empty();
}

/// What was not tried, and what the card does not offer, is no news.
bool is_news(const MechanismVerdict& each) {
  return !is_optional(each.mechanism) && each.outcome != ProbeOutcome::not_run;
}

/// In little room what fails is told, what works is counted.
void write_sharing(TextWriter& writer, const ProbeVerdict& verdict, std::size_t most) {
  std::vector<const MechanismVerdict*> told;
  for (const MechanismVerdict& each : verdict.mechanisms) {
    if (is_news(each) || writer.verbose()) told.push_back(&each);
  }
  const std::size_t all = told.size();
  if (all > most) {
    std::stable_partition(told.begin(), told.end(), [](const MechanismVerdict* each) {
      return each->outcome != ProbeOutcome::works;
    });
    told.resize(most);
  }
  bool first = true;
  for (const MechanismVerdict* const verdict_of : told) {
    const MechanismVerdict& each = *verdict_of;
    const bool offered = !is_optional(each.mechanism);
    const Mark mark = offered || each.outcome != ProbeOutcome::does_not ? mark_of(each.outcome)
                                                                        : Mark{"no", Tone::plain};
    std::string text(title_of(each.mechanism));
    if (!each.needed_by.empty()) text += ": " + printable(each.needed_by);
    if (!each.reason.empty()) text += "; " + printable(each.reason);
    writer.entry({.before = pad(first ? "SHARING" : "", kTextColumn),
                  .word = std::string(mark.word),
                  .tone = mark.tone,
                  .after = std::string(
                      mark.word.size() < kMarkColumns ? kMarkColumns - mark.word.size() : 1, ' '),
                  .hang = kTextColumn + kMarkColumns},
                 text, 3);
    first = false;
  }
  write_left_out(writer, "SHARING", {.all = all, .shown = told.size()});
}

}  // namespace

/// Both sides were read: only then their silence says something.
bool was_compared(const ProcessFacts& process, const PeerFacts& peer) {
  return process.namespaces.contains("pid") && peer.namespaces.contains("pid") &&
         !process.ns_pids.empty() && !peer.ns_pids.empty() &&
         process.rights.device_nodes.is_known() && peer.rights.device_nodes.is_known();
}

/// What was compared of each process that was named with --peer.
void write_peers(TextWriter& writer, const Report& report) {
  const Snapshot& snapshot = report.snapshot;
  bool first = true;
  const std::size_t shown = writer.shown(snapshot.peers.size(), writer.room().peers);
  for (const PeerFacts& peer : std::span(snapshot.peers).first(shown)) {
    const bool objection =
        std::any_of(report.findings.begin(), report.findings.end(), [](const Finding& finding) {
          const bool of_peers =
              finding.id == "IP02" || finding.id == "IP03" || finding.id == "IP07";
          return of_peers && finding.severity >= Severity::warning;
        });
    std::string text = "PID " + std::to_string(peer.pid) +
                       (peer.comm.empty() ? "" : " " + escape_foreign(peer.comm)) + ": ";
    if (objection) {
      text += "see the findings";
    } else if (was_compared(snapshot.process, peer)) {
      text += "PID namespace and device nodes forbid no sharing";
    } else {
      text += "PID namespace or device nodes could not be compared";
    }
    if (peer.uid && snapshot.process.uid && *peer.uid != *snapshot.process.uid) {
      text += "; another user: event handles may not open (205)";
    }
    text += "; no handle was passed to it";
    writer.labelled(first ? "PEER" : "", text, 3);
    first = false;
  }
  write_left_out(writer, "PEER", {.all = snapshot.peers.size(), .shown = shown});
}

void write_probe(TextWriter& writer, const Report& report) {
  const ProbeFacts& probe = report.snapshot.probe;
  const ProbeVerdict& verdict = report.probe_verdict;
  if (verdict.sentence.empty()) return;
  writer.labelled("PROBE", printable(verdict.sentence));
  if (probe.decision != ProbeDecision::run) return;
  // The leading finding says the rest already, and the sentence holds the cause.
  const bool leads = leads_with_finding(report) && report.findings.front().id == verdict.finding;
  if (!leads && !verdict.remedy.empty()) writer.labelled("", "fix: " + printable(verdict.remedy));
  const auto refs = candidate_refs(report);
  const std::size_t most = writer.shown(Room::kAll, writer.room().probe_rows);
  std::size_t rows = 0;
  for (const ProbedRuntime& runtime : probe.runtimes) {
    if (!is_told(writer, probe, runtime) || ++rows > most) continue;
    write_runtime(writer, runtime,
                  runtime.candidate < refs.size() ? refs[runtime.candidate] : std::string("?"));
  }
  for (const std::string& difference : probe.differences) {
    if (++rows <= most) writer.labelled("", "differs: " + printable(difference), 3);
  }
  write_left_out(writer, "", {.all = rows, .shown = std::min(rows, most)});
  write_sharing(writer, verdict, most);
}

}  // namespace cudart_doctor
