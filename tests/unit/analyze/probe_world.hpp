// Worlds with a probe in them: a healthy record to spoil, stage by stage.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "judge_world.hpp"

namespace cudart_doctor::test {

inline constexpr std::string_view kHostDriver = "/usr/lib/libcuda.so.580.105.08";

/// A runtime and the host's driver, loaded.
inline World process_with_driver() {
  return World().library(kReal12, runtime12()).library(kHostDriver, make_driver("580.105.08"));
}

/// Adds a stage that passed, on device 0 where the stage is one of a device.
inline StageResult& pass(Snapshot& snapshot, Stage stage) {
  StageResult& result = add_stage(snapshot, stage, 0);
  if (stage >= Stage::context) result.device = 0;
  const bool imports = stage == Stage::ipc_import || stage == Stage::ipc_compute;
  if (imports) result.side = ProbeSide::importer;
  return result;
}

/// Every stage of one runtime passes on one card.
inline void probe_passes(Snapshot& snapshot) {
  for (std::size_t i = 0; i < kStageNames.size(); ++i) {
    const auto stage = static_cast<Stage>(i);
    if (stage == Stage::start || stage == Stage::peer_access) continue;
    pass(snapshot, stage);
  }
  ProbedRuntime& runtime = probed_runtime(snapshot);
  runtime.runtime_version = 12080;
  runtime.driver_version = 13000;
  snapshot.probe.devices.push_back({.name = "NVIDIA H200", .uuid = "GPU-a", .image = "SASS"});
}

/// The stage's record in the first runtime.
inline StageResult& stage_of(Snapshot& snapshot, Stage stage) {
  auto& stages = probed_runtime(snapshot).stages;
  return *std::find_if(stages.begin(), stages.end(),
                       [stage](const StageResult& result) { return result.stage == stage; });
}

/// The stage fails with a code, and nothing comes after it.
inline void fail_at(Snapshot& snapshot, Stage stage, std::optional<int> code) {
  StageResult& result = stage_of(snapshot, stage);
  result.outcome = StageOutcome::fail;
  result.code = code;
  for (StageResult& other : probed_runtime(snapshot).stages) {
    if (other.stage <= stage) continue;
    other.outcome = StageOutcome::skipped;
    other.code.reset();
    other.detail = std::string(kStageNames.at(static_cast<std::size_t>(stage))) + " failed";
  }
}

/// A world whose probe passed.
inline World probed() { return process_with_driver().with(probe_passes); }

/// A world whose probe failed at `stage`; no code: the data was wrong.
inline World failing(Stage stage, std::optional<int> code) {
  return probed().with([=](Snapshot& snapshot) { fail_at(snapshot, stage, code); });
}

/// A crash or hang in `stage`.
inline World crashing(Stage stage, std::string detail = "SIGSEGV") {
  return probed().with([=](Snapshot& snapshot) {
    fail_at(snapshot, stage, std::nullopt);
    stage_of(snapshot, stage).outcome = StageOutcome::begun;
    stage_of(snapshot, stage).detail = detail;
  });
}

inline DeviceNode node(std::string path, std::uint32_t minor) {
  return {.path = std::move(path), .dev_major = 195, .dev_minor = minor};
}

/// What /dev of the target holds.
inline void set_nodes(Snapshot& snapshot, std::vector<DeviceNode> nodes) {
  snapshot.process.rights.device_nodes = Fact<std::vector<DeviceNode>>::known(std::move(nodes));
}

inline std::vector<DeviceNode> all_nodes() {
  return {node("/dev/nvidia0", 0), node("/dev/nvidiactl", 255), node("/dev/nvidia-uvm", 0)};
}

/// Ids of the findings of an error or worse, sorted: one cause must give one of them.
inline std::string grave_ids(const Report& report) {
  std::vector<std::string> ids;
  for (const Finding& finding : report.findings) {
    if (finding.severity >= Severity::error) ids.push_back(finding.id);
  }
  std::sort(ids.begin(), ids.end());
  return join(ids, " ");
}

}  // namespace cudart_doctor::test
