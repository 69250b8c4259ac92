#include "support/given_probe.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
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
  } else {
    snapshot.host.given_probe[std::string(key)] = value;
  }
}

}  // namespace cudart_doctor::test
