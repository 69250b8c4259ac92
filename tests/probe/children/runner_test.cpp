// The runner with the real children on the fakes: what it makes of them.
#include "cudart_doctor/probe/runner.hpp"

#include <algorithm>

#include "child_pair.hpp"
#include "probe/probe_support.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;

namespace {

ProbePlan plan_for(const std::string& faults) {
  ProbePlan plan;
  plan.subjects = {probe::subject_at(FAKE_CUDART)};
  plan.subjects.front().selected = true;
  plan.bound_names = {"cudaMalloc", "cudaIpcOpenMemHandle"};
  plan.environment = {{"LD_LIBRARY_PATH", FAKE_CUDA_DIR}, {"CUDART_DOCTOR_FAKE", faults}};
  return plan;
}

ProbeFacts run_with(const std::string& faults) {
  ProbeRunOptions options;
  options.executable = PROBE_CHILD;
  return run_probe(plan_for(faults), options);
}

}  // namespace

TEST_CASE("the runner sees the real children pass") {
  const ProbeFacts facts = run_with("");
  REQUIRE(facts.runtimes.size() == 1);
  CHECK(probe::passed(facts.runtimes.front()));
  CHECK(facts.runtimes.front().runtime_version == 13000);
  CHECK(facts.mechanisms.size() == kMechanismNames.size());
  REQUIRE(facts.devices.size() == 1);
  CHECK(facts.devices.front().image == "SASS");
  REQUIRE(facts.driver);
  CHECK_THAT(facts.driver->path, ContainsSubstring("libcuda.so.1"));
}

TEST_CASE("the runner names the stage in which a real child died") {
  const ProbeFacts facts = run_with("segv:cudaIpcOpenMemHandle");
  REQUIRE(facts.runtimes.size() == 1);
  const auto& stages = facts.runtimes.front().stages;
  CHECK(std::any_of(stages.begin(), stages.end(), [](const StageResult& one) {
    return one.stage == Stage::ipc_import && one.outcome == StageOutcome::begun &&
           one.side == ProbeSide::importer;
  }));
}
