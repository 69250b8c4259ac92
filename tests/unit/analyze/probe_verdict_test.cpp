// The probe's answer: works, does not, not confirmed, not run; and for each way to share memory.
#include "cudart_doctor/analyze/probe_verdict.hpp"

#include "probe_world.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

namespace {

std::string word(ProbeOutcome outcome) {
  switch (outcome) {
    case ProbeOutcome::not_run: return "not run";
    case ProbeOutcome::works: return "works";
    case ProbeOutcome::does_not: return "does not";
    case ProbeOutcome::not_confirmed: return "not confirmed";
  }
  return {};
}

ProbeVerdict verdict_of(const World& world) { return world.judge().probe_verdict; }

std::string outcome_of(const World& world) { return word(verdict_of(world).outcome); }

auto differs(std::string text) {
  return [text](Snapshot& snapshot) { snapshot.probe.differences = {text}; };
}

auto record(Mechanism mechanism, StageOutcome outcome) {
  return [=](Snapshot& snapshot) {
    snapshot.probe.mechanisms.push_back({.mechanism = mechanism, .outcome = outcome});
  };
}

std::string mechanism_of(const World& world, Mechanism mechanism) {
  for (const MechanismVerdict& line : verdict_of(world).mechanisms) {
    if (line.mechanism == mechanism) return word(line.outcome);
  }
  return "no line";
}

auto required(Snapshot& snapshot) { snapshot.probe.required = true; }

}  // namespace

TEST_CASE("it works where every stage ran and passed") {
  CHECK(outcome_of(probed()) == "works");
  CHECK(verdict_of(probed()).sentence ==
        "libcudart.so.12 12.8 works on 1 card: kernels right, CUDA IPC round trip right");
  CHECK(verdict_of(probed()).finding.empty());
}

TEST_CASE("no single stage may be left out for it to work") {
  for (const Stage stage :
       {Stage::load, Stage::symbols, Stage::devices, Stage::context, Stage::memory, Stage::kernels,
        Stage::ipc_export, Stage::ipc_import, Stage::ipc_compute, Stage::ipc_verify,
        Stage::ipc_event, Stage::ipc_close, Stage::ipc_again}) {
    INFO(kStageNames.at(static_cast<std::size_t>(stage)));
    const World skipped = probed().with([=](Snapshot& snapshot) {
      stage_of(snapshot, stage).outcome = StageOutcome::skipped;
      stage_of(snapshot, stage).detail = "there is no importer";
    });
    CHECK(outcome_of(skipped) == "not confirmed");
    CHECK_THAT(verdict_of(skipped).sentence, ContainsSubstring("there is no importer"));
    const World absent = probed().with([=](Snapshot& snapshot) {
      auto& stages = probed_runtime(snapshot).stages;
      std::erase_if(stages, [=](const StageResult& result) { return result.stage == stage; });
    });
    CHECK(outcome_of(absent) == "not confirmed");
  }
}

TEST_CASE("checks of the driver and of pairs of cards do not hold the verdict up") {
  CHECK(outcome_of(probed().with([](Snapshot& snapshot) {
          for (const Stage stage : {Stage::control, Stage::ptx}) {
            stage_of(snapshot, stage).outcome = StageOutcome::skipped;
          }
        })) == "works");
}

TEST_CASE("a failure is named by stage, code, cause, finding and remedy") {
  const ProbeVerdict verdict = verdict_of(failing(Stage::devices, 803));
  CHECK(word(verdict.outcome) == "does not");
  CHECK(verdict.stage == Stage::devices);
  CHECK(verdict.code == 803);
  CHECK(verdict.finding == "DR04");
  CHECK(verdict.cause == "the two halves of the driver do not fit each other");
  CHECK(verdict.owner == Owner::node);
  CHECK_THAT(verdict.remedy, ContainsSubstring("reboot"));
  CHECK_THAT(verdict.sentence, ContainsSubstring("803 (cudaErrorSystemDriverMismatch)"));
}

TEST_CASE("a crash is a failure that names its stage") {
  const ProbeVerdict verdict = verdict_of(crashing(Stage::load, "SIGBUS"));
  CHECK(word(verdict.outcome) == "does not");
  CHECK(verdict.finding == "SY05");
  CHECK_THAT(verdict.sentence, ContainsSubstring("stage load (exporter) never ended: SIGBUS"));
}

TEST_CASE("hidden cards are the user's affair") {
  const World world = failing(Stage::devices, 100).env("CUDA_VISIBLE_DEVICES", "");
  CHECK(verdict_of(world).owner == Owner::user);
  CHECK(verdict_of(world).finding == "DR14");
  CHECK_THAT(verdict_of(world).sentence, ContainsSubstring("CUDA_VISIBLE_DEVICES is empty"));
}

TEST_CASE("another view confirms neither success nor failure") {
  CHECK(outcome_of(probed().with(differs("cgroup: another"))) == "not confirmed");
  const World failed = failing(Stage::devices, 100).with(differs("cgroup: another"));
  CHECK(outcome_of(failed) == "not confirmed");
  CHECK(verdict_of(failed).finding == "DR11");
  CHECK_THAT(verdict_of(failed).sentence, ContainsSubstring("cgroup: another"));
}

TEST_CASE("what fails of the probe itself proves nothing of the target") {
  CHECK(outcome_of(failing(Stage::context, 2)) == "not confirmed");
  const World unstarted = probed().with([](Snapshot& snapshot) {
    probed_runtime(snapshot).stages = {{.stage = Stage::start,
                                        .outcome = StageOutcome::fail,
                                        .side = ProbeSide::runner,
                                        .detail = "setns: Operation not permitted"}};
  });
  CHECK(outcome_of(unstarted) == "not run");
  CHECK_THAT(verdict_of(unstarted).sentence, ContainsSubstring("setns"));
}

TEST_CASE("a passing round trip does not hide that the target's own sharing would fail") {
  const World allocator = probed().env("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True");
  CHECK(outcome_of(allocator) == "not confirmed");
  CHECK(verdict_of(allocator).finding == "IP01");
  CHECK_THAT(verdict_of(allocator).sentence, ContainsSubstring("sharing would fail (IP01)"));
  CHECK(mechanism_of(allocator, Mechanism::legacy_memory) == "does not");
  const World peers = probed().with([](Snapshot& snapshot) {
    snapshot.process.ns_pids = {9, 1};
    snapshot.process.namespaces["pid"] = 1;
    snapshot.peers.push_back({.pid = 8, .ns_pids = {8, 1}, .namespaces = {{"pid", 2}}});
  });
  CHECK(verdict_of(peers).finding == "IP02");
}

TEST_CASE("each mechanism has its verdict and names who needs it") {
  const World world = probed()
                          .with(record(Mechanism::vmm_socket, StageOutcome::pass))
                          .with(record(Mechanism::vmm_pidfd, StageOutcome::fail))
                          .with(record(Mechanism::multicast, StageOutcome::pass));
  CHECK(mechanism_of(world, Mechanism::legacy_memory) == "works");
  CHECK(mechanism_of(world, Mechanism::event) == "works");
  CHECK(mechanism_of(world, Mechanism::vmm_socket) == "works");
  CHECK(mechanism_of(world, Mechanism::vmm_pidfd) == "does not");
  CHECK(mechanism_of(world, Mechanism::multicast) == "not confirmed");
  CHECK(mechanism_of(world, Mechanism::fabric) == "not run");
  for (const MechanismVerdict& line : verdict_of(world).mechanisms) {
    CHECK_FALSE(line.needed_by.empty());
  }
}

TEST_CASE("an event that fails says nothing against memory handles") {
  const World world = failing(Stage::ipc_event, 205);
  CHECK(mechanism_of(world, Mechanism::event) == "does not");
  CHECK(mechanism_of(world, Mechanism::legacy_memory) == "works");
}

TEST_CASE("a look-alike that was selected is never said to work") {
  const World world =
      World().library(kShim, shim()).library(kReal12, runtime12()).with([](Snapshot& snapshot) {
        ProbedRuntime runtime;
        runtime.look_alike = true;
        runtime.selected = true;
        runtime.path = kShim;
        snapshot.probe.decision = ProbeDecision::run;
        snapshot.probe.runtimes = {runtime};
      });
  CHECK(outcome_of(world) == "not confirmed");
  CHECK(outcome_of(World(world).with([](Snapshot& snapshot) {
          snapshot.probe.runtimes.front().missing = {"cudaDeviceReset"};
        })) == "does not");
}

TEST_CASE("the reason why nothing was run is the sentence") {
  const World refused = process_with_driver().with([](Snapshot& snapshot) {
    snapshot.probe.decision = ProbeDecision::refused;
    snapshot.probe.reason = "not run on a live GPU: 1 process uses /dev/nvidia0";
  });
  CHECK(outcome_of(refused) == "not run");
  CHECK_THAT(verdict_of(refused).sentence, ContainsSubstring("1 process uses"));
  CHECK(verdict_of(refused).mechanisms.empty());
}

TEST_CASE("a required probe that did not run leaves the verdict open") {
  const World refused = process_with_driver().with([](Snapshot& snapshot) {
    snapshot.probe.decision = ProbeDecision::refused;
    snapshot.probe.reason = "MPS is in use";
  });
  CHECK(refused.judge().verdict.exit_code == 0);
  const Report report = World(refused).with(required).judge();
  CHECK(report.verdict.exit_code == 3);
  CHECK(report.verdict.undecided == "the probe was required and did not run: MPS is in use");
  CHECK(probed().with(required).judge().verdict.exit_code == 0);
  const World skipped = probed().with(required).with(
      [](Snapshot& snapshot) { probed_runtime(snapshot).skipped = "no time left"; });
  CHECK(skipped.judge().verdict.exit_code == 3);
}
