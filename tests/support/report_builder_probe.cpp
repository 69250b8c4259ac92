// Reports with a probe, put together by hand.
#include "support/report_builder.hpp"
#include "support/report_parts.hpp"

namespace cudart_doctor::testing {
namespace {

StageResult passed(Stage stage, ProbeSide side = ProbeSide::exporter) {
  return {.stage = stage, .outcome = StageOutcome::pass, .side = side, .device = 0};
}

ProbedRuntime probed(std::uint32_t candidate, const std::string& path) {
  ProbedRuntime runtime;
  runtime.candidate = candidate;
  runtime.path = path;
  runtime.opened_by = "map_files";
  runtime.runtime_version = 12080;
  runtime.driver_version = 13000;
  runtime.stages = {passed(Stage::load), passed(Stage::kernels), passed(Stage::ipc_export),
                    passed(Stage::ipc_import, ProbeSide::importer), passed(Stage::ipc_verify)};
  runtime.exporter = {.kind = ChildEndKind::exited, .status = 0, .pid = 4711, .output = {}};
  runtime.importer = {.kind = ChildEndKind::exited, .status = 0, .pid = 4712, .output = {}};
  return runtime;
}

ProbeVerdict works() {
  return {.outcome = ProbeOutcome::works,
          .sentence = "works: mHC kernels and CUDA IPC, on GPU 0 (NVIDIA H200)",
          .mechanisms = {{.mechanism = Mechanism::legacy_memory,
                          .outcome = ProbeOutcome::works,
                          .needed_by = "custom all-reduce of vLLM and SGLang"},
                         {.mechanism = Mechanism::fabric,
                          .outcome = ProbeOutcome::does_not,
                          .reason = "refused: 800 (cudaErrorNotPermitted)"}}};
}

}  // namespace

Report probed_report() {
  Report report = healthy_report();
  ProbeFacts& probe = report.snapshot.probe;
  probe.decision = ProbeDecision::run;
  probe.milliseconds = 512;
  probe.devices = {{.ordinal = 0,
                    .name = "NVIDIA H200",
                    .uuid = "GPU-cc1d84a2",
                    .capability_major = 9,
                    .memory_bytes = 1,
                    .free_bytes = 1,
                    .image = "SASS"}};
  probe.driver = ProbeDriver{.path = "/usr/lib/libcuda.so.1", .key = {1, 2, 3}, .version = 13000};
  probe.gate.asked = true;
  probe.gate.cards = {{.uuid = "GPU-cc1d84a2",
                       .node = "/dev/nvidia0",
                       .name = "NVIDIA H200",
                       .compute_mode = "default",
                       .used_bytes = 0,
                       .free_bytes = 1,
                       .users = {}}};
  probe.runtimes = {probed(0, report.candidates.front().path)};
  probe.runtimes.front().selected = true;
  probe.mechanisms = {{.mechanism = Mechanism::fabric,
                       .outcome = StageOutcome::fail,
                       .code = 800,
                       .call = "cuMemCreate"}};
  probe.environment = {{"CUDA_VISIBLE_DEVICES", "0"}};
  report.probe_verdict = works();
  return report;
}

Report failed_probe_report() {
  Report report = probed_report();
  ProbedRuntime& runtime = report.snapshot.probe.runtimes.front();
  runtime.stages.back() = {.stage = Stage::ipc_import,
                           .outcome = StageOutcome::fail,
                           .side = ProbeSide::importer,
                           .device = 0,
                           .code = 201,
                           .call = "cudaIpcOpenMemHandle",
                           .detail = {}};
  runtime.importer.output = "first line\nlast line\n";
  report.probe_verdict.outcome = ProbeOutcome::does_not;
  report.probe_verdict.sentence = "does not work: CUDA IPC import failed";
  report.probe_verdict.stage = Stage::ipc_import;
  report.probe_verdict.code = 201;
  report.probe_verdict.cause = "both processes have the same innermost PID";
  report.probe_verdict.finding = "IP02";
  report.probe_verdict.remedy = "share the PID namespace";
  report.probe_verdict.owner = Owner::user;
  report.probe_verdict.mechanisms.front().outcome = ProbeOutcome::does_not;
  report.probe_verdict.mechanisms.front().reason = "201";
  return report;
}

Report refused_probe_report() {
  Report report = healthy_report();
  report.snapshot.probe.decision = ProbeDecision::refused;
  report.snapshot.probe.reason = "GPU 0 is in use by 1 process";
  report.probe_verdict.sentence = "not run on a live GPU; to allow it: --probe on";
  return report;
}

}  // namespace cudart_doctor::testing
