// The rules that keep a report honest, one test each ("honest: ..."). Other tests look at the same
// rules closer: those of the judge's families, probe_verdict_test.cpp, probe_plan_test.cpp; that
// probes run in children with a time limit is tests/probe/runner.
#include <algorithm>

#include "cudart_doctor/analyze/candidates.hpp"
#include "cudart_doctor/analyze/cuda_codes.hpp"
#include "cudart_doctor/analyze/probe_plan.hpp"
#include "cudart_doctor/analyze/rules.hpp"
#include "probe_world.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

namespace {

World real12() { return World().library(kReal12, runtime12()); }

std::size_t count_runtimes(const World& world) {
  const Snapshot snapshot = world.snapshot();
  const auto candidates = find_candidates(snapshot);
  return distinct_runtimes(snapshot, candidates).size();
}

ProbeOutcome outcome_of(const World& world, Mechanism mechanism) {
  for (const MechanismVerdict& each : world.judge().probe_verdict.mechanisms) {
    if (each.mechanism == mechanism) return each.outcome;
  }
  return ProbeOutcome::not_run;
}

/// The world under an environment that could not be read, or one that is empty.
World environment_is(World world, bool known) {
  return world.with([known](Snapshot& snapshot) {
    snapshot.environment =
        known ? Fact<Environment>::known({EnvironmentOrigin::at_exec, {}, {}})
              : Fact<Environment>::unknown("overwritten by a process title (all NUL)");
  });
}

/// Ids that only an environment can raise.
std::string environment_ids(const Report& report) {
  std::string out;
  for (const std::string_view id : {"RT11", "RT12", "IP01", "IP08", "DR12", "DR14"}) {
    if (find_finding(report, id) != nullptr) out.append(id).append(" ");
  }
  return out;
}

GateAnswer decision_beside(std::vector<std::int64_t> users) {
  const World world = process_with_driver().with([](Snapshot& snapshot) {
    snapshot.origin = SnapshotOrigin::live;
    set_nodes(snapshot, all_nodes());
  });
  ProbeGate gate;
  gate.asked = true;
  gate.cards = {{.uuid = "GPU-a",
                 .node = "/dev/nvidia0",
                 .compute_mode = "default",
                 .used_bytes = 0,
                 .free_bytes = 64ULL << 30U,
                 .users = std::move(users)}};
  return decide_probe(world.judge(), gate, {.mode = ProbeMode::automatic});
}

}  // namespace

TEST_CASE("honest: runtimes are counted by identity, never by name") {
  SyntheticElf one = runtime12();
  SyntheticElf two = runtime12();
  one.elf.build_id = "aa";
  two.elf.build_id = "bb";
  CHECK(count_runtimes(World().library("/a/libcudart.so.12", one)) == 1);
  CHECK(count_runtimes(
            World().library("/a/libcudart.so.12", one).library("/b/libcudart.so.12", two)) == 2);
  // One inode and one build-id seen through two devices is one file.
  two.elf.build_id = "aa";
  const World again = World()
                          .library("/a/libcudart.so.12", one)
                          .library("/b/renamed.so", two)
                          .with([](Snapshot& snapshot) {
                            snapshot.objects[1].key = snapshot.objects[0].key;
                            snapshot.objects[1].key.dev_minor += 1;
                          });
  CHECK(count_runtimes(again) == 1);
}

TEST_CASE("honest: a static copy is a fact to list, no fault") {
  const World world = real12()
                          .library("/x/libnccl.so.2", make_static_copy("12.4"))
                          .library("/x/server", make_static_copy("13.0"));
  CHECK(world.judge().findings.empty());
  CHECK(count_runtimes(world) == 1);
}

TEST_CASE("honest: a difference of device numbers alone is no fault") {
  SyntheticElf built = runtime12();
  built.elf.build_id = "aa";
  const Report report = World()
                            .library(kReal12, built)
                            .with([](Snapshot& snapshot) {
                              LoadedObject& object = snapshot.objects.front();
                              object.state = FileState::differs;
                              object.path_now = object.key;
                              object.path_now->dev_minor += 1;
                            })
                            .judge();
  CHECK(severity_of(report, "MP05") == "info");
  CHECK(report.verdict.exit_code == 0);
}

TEST_CASE("honest: a driver that says yes to peer access proves nothing, the copy does") {
  const World world = probed().with([](Snapshot& snapshot) {
    StageResult& asked = add_stage(snapshot, Stage::peer_access, 0);
    asked.device = 0;
    asked.peer_device = 1;
    asked.detail = "cudaDeviceCanAccessPeer: yes";
    StageResult& data = add_stage(snapshot, Stage::ipc_verify, 0);
    data.outcome = StageOutcome::fail;
    data.code.reset();
    data.device = 0;
    data.peer_device = 1;
  });
  CHECK(severity_of(world.judge(), "IP06") == "error");
}

TEST_CASE("honest: 35 means too old only with a driver version beside it") {
  const auto answers = [](int version) {
    return real12()
        .probe("cudaGetDeviceCount", "35")
        .with([version](Snapshot& snapshot) {
          probed_runtime(snapshot).driver_version = version;
          probed_runtime(snapshot).runtime_version = 12080;
        })
        .judge();
  };
  CHECK(grave_ids(answers(0)) == "DR02");
  CHECK(grave_ids(answers(11040)) == "DR07");
  CHECK(says(find_finding(answers(0), "DR02"), "driver version 0"));
  CHECK(says(find_finding(answers(11040), "DR07"), "driver for CUDA 11.4"));
}

TEST_CASE("honest: a process that is alive can have a critical finding") {
  const Report report =
      World()
          .library(kShim, shim())
          .library(kReal12, runtime12())
          .with([](Snapshot& snapshot) { snapshot.origin = SnapshotOrigin::live; })
          .judge();
  CHECK(severity_of(report, "RT04") == "critical");
  CHECK(report.verdict.exit_code == 1);
}

TEST_CASE(
    "honest: without the kernel module's version nothing is compared, as on WSL2 and Jetson") {
  const World world = real12().library("/usr/lib/wsl/lib/libcuda.so.1", make_driver("535.104.05"));
  const World wsl = World(world).with([](Snapshot& snapshot) {
    snapshot.host.kernel_module = Fact<std::string>::unknown("no such file");
    snapshot.host.no_ipc_sign = "WSL2: kernel release 6.6.87-microsoft-standard-WSL2";
  });
  CHECK(severity_of(wsl.judge(), "DR04") == "absent");
  CHECK(severity_of(wsl.judge(), "DR05") == "absent");
  CHECK(severity_of(World(world).kernel_module("580.105.08").judge(), "DR04") == "critical");
}

TEST_CASE("honest: a crash or a hang of a child is a verdict with its stage") {
  for (const std::string_view detail : {"SIGSEGV", "no answer in 10 s"}) {
    const Report report = crashing(Stage::ipc_import, std::string(detail)).judge();
    CHECK(report.probe_verdict.outcome == ProbeOutcome::does_not);
    CHECK(report.probe_verdict.stage == Stage::ipc_import);
    CHECK(says(find_finding(report, "IP09"), detail));
  }
}

TEST_CASE("honest: every code stands with its step, its side and its call") {
  const Report report = failing(Stage::ipc_import, 1).judge();
  const Finding* finding = find_finding(report, "IP09");
  CHECK(says(finding, "1 (cudaErrorInvalidValue)"));
  CHECK(says(finding, "stage ipc_import, importer"));
}

/// What went wrong in a stage, with every code that CUDA has.
std::vector<std::optional<int>> every_code() {
  std::vector<std::optional<int>> out = {std::nullopt};
  for (int code = 1; code < 1000; ++code) {
    if (!cuda_runtime_code_name(code).empty()) out.emplace_back(code);
  }
  return out;
}

TEST_CASE("honest: a stage that failed, whatever its code and driver, is a finding and no proof") {
  const std::vector<World> worlds = {
      probed(), World().library(kReal12, runtime12()).with(probe_passes),
      probed().env("CUDA_VISIBLE_DEVICES", "7").with([](Snapshot& snapshot) {
        probed_runtime(snapshot).driver_version = 12000;
        snapshot.probe.devices.clear();
      })};
  const auto codes = every_code();
  REQUIRE(codes.size() > 100);
  for (std::size_t world = 0; world < worlds.size(); ++world) {
    for (std::size_t i = 0; i < kStageNames.size(); ++i) {
      const auto stage = static_cast<Stage>(i);
      if (stage == Stage::start || stage == Stage::peer_access) continue;
      for (const auto& code : codes) {
        const Report report = World(worlds[world])
                                  .with([&](Snapshot& snapshot) {
                                    snapshot.probe.decision = ProbeDecision::run;
                                    fail_at(snapshot, stage, code);
                                  })
                                  .judge();
        INFO(world << " " << kStageNames[i] << " " << code.value_or(-1));
        INFO(report.probe_verdict.sentence << int(report.probe_verdict.outcome));
        // A card that was asked for and is not here is nobody's fault, and no clean bill.
        CHECK((!report.findings.empty() || report.verdict.end == RunEnd::undecided));
        CHECK(report.probe_verdict.outcome != ProbeOutcome::works);
      }
    }
  }
}

TEST_CASE("honest: a required probe that ended in its own trouble is not decided") {
  const auto foreign_proc = [](Snapshot& snapshot) {
    snapshot.process.own_namespaces = {{"pid", 1}, {"mnt", 1}};
    snapshot.process.namespaces = {{"pid", 2}, {"mnt", 2}};
    snapshot.probe.decision = ProbeDecision::run;
    fail_at(snapshot, Stage::load, std::nullopt);
  };
  World world = probed().with(foreign_proc);
  CHECK(World(world).judge().verdict.exit_code == 0);
  const Report report =
      world.with([](Snapshot& snapshot) { snapshot.probe.required = true; }).judge();
  CHECK(report.verdict.exit_code == 3);
  CHECK(report.verdict.undecided.starts_with("the probe could not be finished: "));
}

TEST_CASE("honest: more than one runtime is no error by itself") {
  const auto vendored = make_genuine_runtime("libcudart-41118559.so.12", "12.4");
  const Report report = real12().library("/v/ops.libs/libcudart-41118559.so.12", vendored).judge();
  CHECK(severity_of(report, "RT05") == "warning");
  CHECK(report.verdict.exit_code == 0);
}

TEST_CASE("honest: first by address is called unstable, with every match") {
  const Report report = World().library(kShim, shim()).library(kReal12, runtime12()).judge();
  const Finding* finding = find_finding(report, "RT07");
  CHECK(says(finding, "next start"));
  CHECK(says(finding, kShim));
  CHECK(says(finding, kReal12));
}

TEST_CASE("honest: a probe proves the way to share memory that it used, and no other") {
  const World world = probed().with([](Snapshot& snapshot) {
    snapshot.probe.mechanisms.push_back(
        {.mechanism = Mechanism::vmm_pidfd, .outcome = StageOutcome::fail});
  });
  CHECK(outcome_of(world, Mechanism::legacy_memory) == ProbeOutcome::works);
  CHECK(outcome_of(world, Mechanism::vmm_pidfd) == ProbeOutcome::does_not);
  CHECK(outcome_of(world, Mechanism::vmm_socket) == ProbeOutcome::not_run);
}

TEST_CASE("honest: where the children's view is not the process's, nothing is confirmed") {
  const World world = probed().with(
      [](Snapshot& snapshot) { snapshot.probe.differences = {"another libcuda: /x"}; });
  const Report report = world.judge();
  CHECK(report.probe_verdict.outcome == ProbeOutcome::not_confirmed);
  CHECK(report.probe_verdict.sentence.find("another libcuda") != std::string::npos);
}

TEST_CASE("honest: an environment that was blanked is unknown, neither set nor unset") {
  const Report unknown = environment_is(real12(), false).judge();
  CHECK(environment_ids(unknown).empty());
  // cuDNN's override: not known is not "not set".
  const World two = real12()
                        .library(kReal13, runtime13())
                        .library("/v/cudnn/_compiled_module.so", make_plain())
                        .uses("cudnn-fe");
  CHECK(says(find_finding(environment_is(two, false).judge(), "RT06"), "override is not known"));
  CHECK(says(find_finding(environment_is(two, true).judge(), "RT06"), "override is not set"));
}

TEST_CASE("honest: nothing is allocated beside somebody else's work unasked") {
  CHECK(decision_beside({}).decision == ProbeDecision::run);
  CHECK(decision_beside({4121}).decision == ProbeDecision::refused);
}

TEST_CASE("honest: what could not be read is never absent") {
  const World hidden = World().unread("/x/libfoo.so", "Permission denied");
  const Report report = hidden.judge();
  CHECK(severity_of(report, "RT01") == "absent");
  CHECK(severity_of(report, "RT02") == "absent");
  CHECK(report.verdict.exit_code == 3);
  CHECK_FALSE(report.verdict.undecided.empty());
  // The same process, read: now there is nothing that could be a runtime.
  CHECK(severity_of(World().library("/x/libfoo.so", make_plain()).judge(), "RT01") == "info");
}
