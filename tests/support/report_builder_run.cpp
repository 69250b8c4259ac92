// Reports of commands that were recorded.
#include "cudart_doctor/analyze/judge.hpp"
#include "cudart_doctor/analyze/timeline.hpp"
#include "support/report_builder.hpp"
#include "support/report_parts.hpp"

namespace cudart_doctor::testing {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

RecordedProcess worker(std::int64_t pid, bool bad) {
  RecordedProcess process;
  process.pid = pid;
  process.parent_pid = 4100;
  process.began = 900 * kMillisecond;
  process.executable = "/usr/bin/python3.12";
  process.command_line = {"VLLM::Worker_TP" + std::to_string(pid - 4121)};
  process.recorded = true;
  process.end = ProcessEnd::running;
  process.judged = JudgeMoment::ready;
  if (bad) {
    process.worst = Severity::critical;
    process.findings = {"RT04", "RT07"};
    process.headline = "FlashInfer would take TileLang's stub for the CUDA runtime.";
  }
  return process;
}

RecordedProcess launcher() {
  RecordedProcess process;
  process.pid = 4100;
  process.parent_pid = 1;
  process.executable = "/usr/bin/python3.12";
  process.command_line = {"python3", "-m", "vllm", "serve", "--api-key", "sesame"};
  process.recorded = true;
  process.end = ProcessEnd::running;
  return process;
}

LoadEvent load(const Report& report, std::size_t candidate, std::int64_t milliseconds) {
  LoadEvent event;
  event.nanoseconds = milliseconds * kMillisecond;
  event.pid = 4121;
  event.tid = 4121;
  event.path = report.candidates[candidate].path;
  event.key = report.snapshot.objects[*report.candidates[candidate].object].key;
  event.base = report.snapshot.objects[*report.candidates[candidate].object].lowest;
  return event;
}

/// Imports as vLLM's of DeepSeek-V4.
std::vector<PythonFrame> imports() {
  return {{kSite + "tilelang/__init__.py", 131, "_load_tile_lang_lib", "tilelang"},
          {kSite + "tilelang/__init__.py", 140, "<module>", "tilelang"},
          {kSite + "vllm/model_executor/layers/mhc.py", 12, "<module>", "vllm.layers.mhc"},
          {kSite + "vllm/model_executor/models/deepseek_v4.py", 40, "<module>", "vllm.deepseek"},
          {kSite + "vllm/model_executor/models/registry.py", 88, "_load", "vllm.registry"}};
}

}  // namespace

Report recorded_report() {
  Report report = critical_report();
  Recording recording;
  recording.command = {"vllm", "serve", "--api-key", "sesame"};
  recording.recorder = "/tmp/run-4kq9x1zz/recorder.so";
  recording.started_at = "2026-11-30T20:56:27Z";
  recording.duration = 41'300 * kMillisecond;
  recording.end = ProcessEnd::running;
  recording.root_pid = 4100;
  recording.ready_when = "port:8000";
  recording.ready = true;
  recording.judged_pid = 4121;
  recording.processes = {launcher(), worker(4121, true), worker(4122, true), worker(4123, true),
                         worker(4124, false)};
  LoadEvent stub = load(report, 0, 1800);
  stub.cause = LoadCause::needed;
  stub.requested = "libcudart_stub.so";
  stub.requester = kSite + "tilelang/lib/libtilelang.so";
  stub.python = imports();
  LoadEvent bringer = stub;
  bringer.path = stub.requester;
  bringer.key.reset();
  bringer.base = 0x7f1a50000000;
  bringer.cause = LoadCause::opened;
  bringer.requester = "/usr/lib/python3.12/lib-dynload/_ctypes.so";
  bringer.caller = NativeCaller{bringer.requester, 0x1234, "PyInit__ctypes"};
  LoadEvent real = load(report, 1, 2400);
  real.cause = LoadCause::opened;
  real.requested = "libcudart.so.12";
  real.python = {{kSite + "torch/__init__.py", 300, "<module>", "torch"}};
  LoadEvent brief = real;
  brief.path = "/opt/other/libcudart.so.11.0";
  brief.key.reset();
  brief.base = 0x7f1a60000000;
  brief.python.clear();
  brief.python_note = "its stack could not be read: Operation not permitted";
  LoadEvent gone = brief;
  gone.kind = LoadKind::unload;
  gone.nanoseconds += 5 * kMillisecond;
  recording.events = {bringer, stub, real, brief, gone};
  recording.limits = {"pid 4130 is a static program: its loads were not seen"};
  report.snapshot.recording = RecordingFact::known(recording);
  report.timeline = make_timeline(report);
  return report;
}

Report nobody_report() {
  Snapshot snapshot;
  snapshot.host.name = "gpu-17";
  snapshot.capture.taken_at = "2026-11-30T20:56:27Z";
  Recording recording;
  recording.command = {"make", "-j8"};
  recording.started_at = "2026-11-30T20:56:27Z";
  recording.duration = 12'300 * kMillisecond;
  recording.end = ProcessEnd::exited;
  recording.root_pid = 4100;
  recording.processes = {launcher(), {}};
  recording.processes[0].end = ProcessEnd::exited;
  recording.processes[1].pid = 4101;
  recording.processes[1].unrecorded = "a static program";
  snapshot.recording = RecordingFact::known(recording);
  return make_report(std::move(snapshot), {});
}

}  // namespace cudart_doctor::testing
