// The runner and its real children together, against a runtime and a driver without a GPU.
#include <signal.h>

#include <algorithm>
#include <chrono>

#include "cudart_doctor/probe/runner.hpp"
#include "probe_support.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using probe::stage_of;

namespace {

/// The same runtime twice: the second is beside another one.
ProbePlan plan_with_fault(const std::string& fault) {
  ProbePlan plan = probe::single_plan("");
  plan.subjects = {probe::subject_at(FAKE_CUDART), probe::subject_at(FAKE_CUDART)};
  plan.bound_names = {"cudaMalloc", "cudaFree", "cudaIpcGetMemHandle"};
  plan.environment.emplace_back("LD_LIBRARY_PATH", FAKE_CUDA_DIR);
  plan.environment.emplace_back("CUDART_DOCTOR_FAKE", fault);
  return plan;
}

ProbeRunOptions real_children() {
  auto options = probe::options();
  options.executable = PROBE_CHILD;
  return options;
}

bool nothing_failed(const ProbedRuntime& runtime) {
  return std::none_of(runtime.stages.begin(), runtime.stages.end(), [](const StageResult& one) {
    return one.outcome == StageOutcome::fail || one.outcome == StageOutcome::begun;
  });
}

}  // namespace

TEST_CASE("runner and children go through all stages together") {
  const auto facts = probe::run(plan_with_fault(""), real_children());
  for (const auto& runtime : facts.runtimes) {
    CHECK(nothing_failed(runtime));
    CHECK(stage_of(runtime, Stage::ipc_again, ProbeSide::exporter) != nullptr);
    CHECK(stage_of(runtime, Stage::ipc_again, ProbeSide::importer) != nullptr);
    CHECK(runtime.exporter.kind == ChildEndKind::exited);
    CHECK(runtime.runtime_version == 13000);
  }
  REQUIRE(facts.devices.size() == 1);
  CHECK_FALSE(facts.devices[0].image.empty());
  REQUIRE(facts.driver);
  CHECK_THAT(facts.driver->path, ContainsSubstring(FAKE_CUDA_DIR));
  CHECK(facts.mechanisms.size() == kMechanismNames.size());
}

TEST_CASE("a runtime that crashes in the importer is named with stage and side") {
  const auto facts = probe::run(plan_with_fault("segv:cudaIpcOpenMemHandle"), real_children());
  for (const auto& runtime : facts.runtimes) {
    const auto* stage = stage_of(runtime, Stage::ipc_import, ProbeSide::importer);
    REQUIRE(stage != nullptr);
    CHECK(stage->outcome == StageOutcome::begun);
    CHECK(stage->detail == "SIGSEGV");
    CHECK(runtime.importer.status == SIGSEGV);
  }
}

TEST_CASE("a runtime that hangs in the importer is not blamed on the exporter") {
  auto options = real_children();
  options.stage_limit = std::chrono::milliseconds(1000);
  const auto facts = probe::run(plan_with_fault("hang:cudaIpcOpenMemHandle"), options);
  const auto& runtime = facts.runtimes.front();
  CHECK(runtime.importer.kind == ChildEndKind::timed_out);
  CHECK(runtime.exporter.kind == ChildEndKind::killed);
  CHECK(stage_of(runtime, Stage::ipc_import, ProbeSide::importer)->outcome == StageOutcome::begun);
}
