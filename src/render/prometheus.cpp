// Gauges for the textfile collector of node_exporter. It skips a whole file for one time stamp,
// and a label whose values have no bound fills the database: no PID, no path, no foreign text.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cudart_doctor/analyze/rules.hpp"
#include "render/describe.hpp"
#include "render/names.hpp"
#include "render/prometheus_gauge.hpp"

namespace cudart_doctor {
namespace {

/// Whether a finding is counted among the allowed ones.
enum class Counted : bool { no, yes };

std::string findings(const Report& report, Counted counted) {
  Gauge gauge = counted == Counted::yes
                    ? Gauge("findings", "Findings that count, by code and severity.")
                    : Gauge("allowed_findings", "Findings that --allow keeps out of the verdict.");
  std::map<std::pair<std::string, Severity>, std::uint64_t> counts;
  for (const Finding& finding : report.findings) {
    if (finding.allowed.empty() != (counted == Counted::yes)) continue;
    ++counts[{finding.id, finding.severity}];
  }
  for (const auto& [key, count] : counts) {
    gauge.add({{"code", key.first}, {"severity", std::string(name_of(key.second))}}, count);
  }
  return gauge.text();
}

/// A major as a label: a file can claim any number.
std::string major_label(std::optional<int> major) {
  constexpr int kHighest = 99;
  return major && *major > 0 && *major <= kHighest ? std::to_string(*major) : "unknown";
}

std::string mapped_runtimes(const Report& report) {
  Gauge gauge("mapped_runtimes", "CUDA runtimes and look-alikes in the process, by identity.");
  std::map<std::pair<std::string, std::string>, std::uint64_t> counts;
  for (const Candidate* each : distinct_runtimes(report.snapshot, report.candidates)) {
    ++counts[{std::string(name_of(each->kind)), major_label(each->major)}];
  }
  for (const Candidate& each : report.candidates) {
    if (!each.loaded || each.kind == RuntimeKind::genuine) continue;
    if (each.kind == RuntimeKind::not_a_runtime) continue;
    ++counts[{std::string(name_of(each.kind)), major_label(each.major)}];
  }
  for (const auto& [key, count] : counts) {
    gauge.add({{"kind", key.first}, {"major", key.second}}, count);
  }
  return gauge.text();
}

std::string consumers(const Report& report) {
  Gauge gauge("consumer_ok",
              "1 where the library that a consumer in the process takes is complete, 0 where it "
              "fails.");
  for (const Selection& selection : report.selections) {
    if (selection.presence != Presence::present) continue;
    const AnswerResult result = result_of(selection);
    if (result != AnswerResult::ok && result != AnswerResult::fails) continue;
    gauge.add({{"consumer", selection.consumer}, {"rule", selection.policy}},
              result == AnswerResult::ok ? 1 : 0);
  }
  return gauge.text();
}

/// 1, 0, or nothing where it was not seen.
std::optional<std::uint64_t> ok_of(ProbeOutcome outcome) {
  switch (outcome) {
    case ProbeOutcome::works: return 1;
    case ProbeOutcome::does_not: return 0;
    case ProbeOutcome::not_run:
    case ProbeOutcome::not_confirmed: break;
  }
  return std::nullopt;
}

std::string probe(const Report& report) {
  if (report.snapshot.probe.decision != ProbeDecision::run) return {};
  Gauge whole("probe_ok", "1 where the runtime works on the GPU, 0 where it does not.");
  if (const auto ok = ok_of(report.probe_verdict.outcome)) whole.add({}, *ok);
  Gauge seconds("probe_duration_seconds", "How long the probe took.");
  const std::string milliseconds = std::to_string(report.snapshot.probe.milliseconds % 1000);
  seconds.add({}, std::to_string(report.snapshot.probe.milliseconds / 1000) + "." +
                      std::string(3 - milliseconds.size(), '0') + milliseconds);
  Gauge sharing("sharing_ok", "1 where a way to share GPU memory works for the process, else 0.");
  for (const MechanismVerdict& each : report.probe_verdict.mechanisms) {
    if (const auto ok = ok_of(each.outcome)) {
      sharing.add({{"mechanism", std::string(name_of(each.mechanism))}}, *ok);
    }
  }
  return whole.text() + seconds.text() + sharing.text();
}

/// Of memory; events are a way of their own.
bool is_exchange(Stage stage) {
  return stage >= Stage::ipc_export && stage <= Stage::ipc_again && stage != Stage::ipc_event;
}

/// What the stages of one exchange between two cards say.
struct Exchange {
  bool failed = false;
  bool verified = false;
};

std::string ipc_pairs(const Report& report) {
  Gauge gauge("ipc_pair_ok",
              "1 where CUDA IPC memory of card src was right in a process on card dst, else 0.");
  std::map<std::pair<int, int>, Exchange> pairs;
  for (const ProbedRuntime& runtime : report.snapshot.probe.runtimes) {
    if (!runtime.selected) continue;
    for (const StageResult& stage : runtime.stages) {
      if (!is_exchange(stage.stage) || stage.device < 0) continue;
      const int to = stage.peer_device < 0 ? stage.device : stage.peer_device;
      Exchange& exchange = pairs[{stage.device, to}];
      exchange.failed |=
          stage.outcome == StageOutcome::fail || stage.outcome == StageOutcome::begun;
      exchange.verified |= stage.stage == Stage::ipc_verify && stage.outcome == StageOutcome::pass;
    }
  }
  for (const auto& [pair, exchange] : pairs) {
    if (!exchange.failed && !exchange.verified) continue;
    gauge.add({{"src", std::to_string(pair.first)}, {"dst", std::to_string(pair.second)}},
              exchange.failed ? 0 : 1);
  }
  return gauge.text();
}

}  // namespace

std::string render_prometheus(const Report& report) {
  return build_info_gauge() + last_run_gauge(report.snapshot.capture.taken_at) +
         verdict_gauge(report.verdict.end) + findings(report, Counted::yes) +
         findings(report, Counted::no) + mapped_runtimes(report) + consumers(report) +
         probe(report) + ipc_pairs(report);
}

std::string render_error_prometheus() {
  return build_info_gauge() + verdict_gauge(RunEnd::undecided);
}

}  // namespace cudart_doctor
