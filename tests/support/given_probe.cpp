#include "support/given_probe.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <string>
#include <utility>

#include "cudart_doctor/analyze/candidates.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor::test {
namespace {

int code_of(std::string_view value) {
  return static_cast<int>(parse_unsigned(value, 10).value_or(999));
}

void give_round_trip(Snapshot& snapshot, int code) {
  add_stage(snapshot, Stage::ipc_export, 0);
  StageResult& import = add_stage(snapshot, Stage::ipc_import, code);
  import.side = ProbeSide::importer;
  import.call = "cudaIpcOpenMemHandle";
  if (code != 0) return;
  add_stage(snapshot, Stage::ipc_compute, 0).side = ProbeSide::importer;
  add_stage(snapshot, Stage::ipc_verify, 0);
}

void give_descriptor(Snapshot& snapshot, std::string_view value) {
  constexpr std::array<std::pair<std::string_view, int>, 4> kErrors{
      {{"0", 0}, {"EPERM", EPERM}, {"ENOSYS", ENOSYS}, {"EBADF", EBADF}}};
  MechanismResult result;
  result.mechanism = Mechanism::vmm_pidfd;
  result.call = "pidfd_getfd";
  for (const auto& [name, number] : kErrors) {
    if (name == value) result.error = number;
  }
  result.outcome = result.error == 0 ? StageOutcome::pass : StageOutcome::fail;
  snapshot.probe.decision = ProbeDecision::run;
  snapshot.probe.mechanisms.push_back(result);
}

/// A code, "wrong" (it ended without an error, and not as it must) or "crash" (it never ended).
void set_end(StageResult& stage, std::string_view value) {
  if (value != "wrong" && value != "crash") return;
  stage.outcome = value == "wrong" ? StageOutcome::fail : StageOutcome::begun;
  stage.code.reset();
}

/// The stage of "stage.kernels".
std::optional<Stage> stage_named(std::string_view key) {
  constexpr std::string_view kPrefix = "stage.";
  if (!key.starts_with(kPrefix)) return std::nullopt;
  for (std::size_t i = 0; i < kStageNames.size(); ++i) {
    if (kStageNames.at(i) == key.substr(kPrefix.size())) return static_cast<Stage>(i);
  }
  return std::nullopt;
}

void give_stage(Snapshot& snapshot, Stage stage, std::string_view value) {
  StageResult& result = add_stage(snapshot, stage, code_of(value));
  if (stage >= Stage::context) result.device = 0;
  set_end(result, value);
}

/// A round trip or a copy from card 0 to card 1.
void give_pair(Snapshot& snapshot, std::string_view value) {
  StageResult& result = add_stage(snapshot, Stage::peer_access, code_of(value));
  result.device = 0;
  result.peer_device = 1;
  result.call = "cudaDeviceEnablePeerAccess";
  set_end(result, value);
}

}  // namespace

ProbedRuntime& probed_runtime(Snapshot& snapshot) {
  snapshot.probe.decision = ProbeDecision::run;
  if (snapshot.probe.runtimes.empty()) {
    ProbedRuntime runtime;
    const auto candidates = find_candidates(snapshot);
    const auto genuine = std::find_if(candidates.begin(), candidates.end(), [](const auto& found) {
      return found.loaded && found.kind == RuntimeKind::genuine;
    });
    runtime.candidate = static_cast<std::uint32_t>(genuine - candidates.begin());
    if (genuine != candidates.end()) runtime.path = genuine->path;
    runtime.selected = true;
    snapshot.probe.runtimes.push_back(std::move(runtime));
  }
  return snapshot.probe.runtimes.front();
}

StageResult& add_stage(Snapshot& snapshot, Stage stage, int code) {
  StageResult result;
  result.stage = stage;
  result.outcome = code == 0 ? StageOutcome::pass : StageOutcome::fail;
  result.code = code;
  ProbedRuntime& runtime = probed_runtime(snapshot);
  runtime.stages.push_back(std::move(result));
  return runtime.stages.back();
}

void give_probe(Snapshot& snapshot, std::string_view key, std::string_view value) {
  if (key == "cudaGetDeviceCount") {
    add_stage(snapshot, Stage::devices, code_of(value)).call = key;
  } else if (key == "ipc.local") {
    give_round_trip(snapshot, code_of(value));
  } else if (key == "pidfd_getfd") {
    give_descriptor(snapshot, value);
  } else if (key == "pair") {
    give_pair(snapshot, value);
  } else if (key == "driverVersion") {
    probed_runtime(snapshot).driver_version = code_of(value);
  } else if (key == "runtimeVersion") {
    probed_runtime(snapshot).runtime_version = code_of(value);
  } else if (const auto stage = stage_named(key)) {
    give_stage(snapshot, *stage, value);
  } else {
    snapshot.host.given_probe[std::string(key)] = value;
  }
}

}  // namespace cudart_doctor::test
