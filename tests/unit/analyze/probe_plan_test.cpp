// What is probed, in which order, as whom; and whether it may be.
#include "cudart_doctor/analyze/probe_plan.hpp"

#include "probe_world.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

namespace {

constexpr std::uint64_t kGiB = 1024ULL * 1024 * 1024;

ProbePlan plan_of(const World& world, const ProbeRequest& request = {}) {
  return plan_probe(world.judge(), request);
}

World live(World world) {
  return world.with([](Snapshot& snapshot) {
    snapshot.origin = SnapshotOrigin::live;
    set_nodes(snapshot, all_nodes());
  });
}

ProbeGate idle() {
  ProbeGate gate;
  gate.asked = true;
  gate.cards = {{.uuid = "GPU-a",
                 .node = "/dev/nvidia0",
                 .compute_mode = "default",
                 .used_bytes = kGiB / 1024,
                 .free_bytes = 100 * kGiB}};
  return gate;
}

struct Asked {
  ProbeMode mode = ProbeMode::automatic;
  bool anyway = false;
};

GateAnswer decided(const World& world, const ProbeGate& gate, const Asked& asked = {}) {
  return decide_probe(world.judge(), gate, {.mode = asked.mode, .anyway = asked.anyway});
}

std::string word(ProbeDecision decision) {
  switch (decision) {
    case ProbeDecision::not_asked: return "not asked";
    case ProbeDecision::refused: return "refused";
    case ProbeDecision::impossible: return "impossible";
    case ProbeDecision::run: return "run";
  }
  return {};
}

}  // namespace

TEST_CASE("the runtime that the headline's rule takes is probed first") {
  const World world = World().library(kReal13, runtime13()).library(kReal12, runtime12());
  const Report report = make_report(
      world.snapshot(), {.fail_on = Severity::error, .policy = "dlopen:libcudart.so.12"});
  const ProbePlan plan = plan_probe(report, {});
  REQUIRE(plan.subjects.size() == 2);
  CHECK(plan.subjects[0].path == kReal12);
  CHECK(plan.subjects[0].selected);
  CHECK(plan.subjects[1].path == kReal13);
  CHECK_FALSE(plan.subjects[1].selected);
}

TEST_CASE("nothing is selected where the headline's rule ends nowhere") {
  const Report report =
      make_report(World().library(kReal12, runtime12()).snapshot(),
                  {.fail_on = Severity::error, .policy = "dlopen:libcudart.so.13"});
  const ProbePlan plan = plan_probe(report, {});
  REQUIRE(plan.subjects.size() == 1);
  CHECK_FALSE(plan.subjects[0].selected);
}

TEST_CASE("a runtime that is only on disk is probed where the headline's rule ends there") {
  const World world = World()
                          .library(kReal12, runtime12())
                          .named_by_user(kReal13, runtime13())
                          .search("libcudart.so.13", kReal13);
  const Report report = make_report(
      world.snapshot(), {.fail_on = Severity::error, .policy = "dlopen:libcudart.so.13"});
  const ProbePlan plan = plan_probe(report, {});
  REQUIRE(plan.subjects.size() == 2);
  CHECK(plan.subjects[0].path == kReal13);
  CHECK(plan.subjects[0].map_lo == 0);
  CHECK(plan.subjects[0].key.is_file());
  CHECK(plan.subjects[1].path == kReal12);
  CHECK(plan.subjects[1].map_lo != 0);
}

TEST_CASE("look-alikes are asked for symbols only, each alone, after the genuine ones") {
  const World world = World().library(kShim, shim()).library(kReal12, runtime12());
  const ProbePlan plan = plan_of(World(world).package("sglang", "0.5.16"));
  REQUIRE(plan.subjects.size() == 2);
  const bool shim_last = plan.subjects[1].path == kShim;
  const ProbeSubject& fake = plan.subjects[shim_last ? 1 : 0];
  CHECK(fake.look_alike);
  CHECK(fake.symbols_only);
  CHECK(fake.alone);
  CHECK_FALSE(plan.subjects[shim_last ? 0 : 1].look_alike);
  const ProbePlan run_too = plan_of(world, {.look_alikes = true});
  for (const ProbeSubject& subject : run_too.subjects) CHECK_FALSE(subject.symbols_only);
}

TEST_CASE("static copies, installed files and data mappings are no subjects") {
  const World world = World()
                          .library(kReal12, runtime12())
                          .library("/x/libnccl.so.2", make_static_copy("12.4"))
                          .data(kReal13, runtime13())
                          .named_by_user(kOther12, runtime12());
  CHECK(plan_of(world).subjects.size() == 1);
}

TEST_CASE("a runtime that exists only in memory is skipped with its reason") {
  const World world = World().library("/memfd:cudart", runtime12()).file_is(FileState::memory);
  const ProbePlan plan = plan_of(world);
  REQUIRE(plan.subjects.size() == 1);
  CHECK(plan.subjects[0].skip == "exists only in memory: no file to open");
}

TEST_CASE("a deleted runtime is probed by its mapping") {
  const World world = World().library(kReal12, runtime12()).file_is(FileState::deleted);
  const ProbePlan plan = plan_of(world);
  REQUIRE(plan.subjects.size() == 1);
  CHECK(plan.subjects[0].skip.empty());
  CHECK(plan.subjects[0].map_lo < plan.subjects[0].map_hi);
}

TEST_CASE("a runtime with a run path of its own is alone") {
  SyntheticElf own = runtime12();
  own.elf.runpath = "$ORIGIN/../driver";
  CHECK(plan_of(World().library(kReal12, own)).subjects[0].alone);
  own.elf.runpath = "";
  CHECK_FALSE(plan_of(World().library(kReal12, own)).subjects[0].alone);
  CHECK_FALSE(plan_of(World().library(kReal12, runtime12())).subjects[0].alone);
}

TEST_CASE("the children take the target's rights, environment and names") {
  const ProbePlan plan = plan_of(process_with_driver().env("A", "1").with([](Snapshot& snapshot) {
    snapshot.process.pid = 77;
    snapshot.process.uid = 1000;
    snapshot.process.gid = 1001;
    snapshot.process.start_ticks = 5;
  }));
  CHECK(plan.identity.pid == 77);
  CHECK(plan.identity.uid == 1000U);
  CHECK(plan.identity.gid == 1001U);
  CHECK(plan.identity.start_ticks == 5U);
  REQUIRE(plan.environment.size() == 1);
  CHECK(plan.environment_known);
  CHECK(plan.bound_names.size() == 11);
  REQUIRE(plan.target_driver);
  CHECK(plan.target_driver->path == kHostDriver);
}

TEST_CASE("an environment that could not be read is not an empty one") {
  CHECK_FALSE(plan_of(process_with_driver()).environment_known);
}

TEST_CASE("the automatic probe runs on idle cards only") {
  struct Row {
    std::string_view name;
    void (*change)(ProbeGate&);
    std::string_view decision;
    std::string_view words;
  };
  const Row rows[] = {
      {"idle", [](ProbeGate&) {}, "run", ""},
      {"a user", [](ProbeGate& gate) { gate.cards[0].users = {4121}; }, "refused",
       "1 process uses /dev/nvidia0"},
      {"memory in use", [](ProbeGate& gate) { gate.cards[0].used_bytes = kGiB; }, "refused",
       "1024 MiB of /dev/nvidia0 are in use"},
      {"another mode", [](ProbeGate& gate) { gate.cards[0].compute_mode = "exclusive"; }, "refused",
       "compute mode exclusive"},
      {"MPS", [](ProbeGate& gate) { gate.mps = "/tmp/nvidia-mps/control"; }, "refused", "MPS"},
      {"little memory", [](ProbeGate& gate) { gate.cards[0].free_bytes = kGiB; }, "refused",
       "1024 MiB free"},
      {"the second card is busy",
       [](ProbeGate& gate) { gate.cards.push_back({.node = "/dev/nvidia1", .users = {1, 2}}); },
       "refused", "2 processes use /dev/nvidia1"},
      {"nobody could tell",
       [](ProbeGate& gate) {
         gate.cards = {{.node = "/dev/nvidia0"}};
         gate.cards_note = "libnvidia-ml.so.1: not found";
       },
       "refused", "could not be told"},
      {"nobody was asked", [](ProbeGate& gate) { gate = {}; }, "refused", "nobody looked"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    ProbeGate gate = idle();
    row.change(gate);
    const GateAnswer answer = decided(live(process_with_driver()), gate);
    CHECK(word(answer.decision) == row.decision);
    CHECK_THAT(answer.reason, ContainsSubstring(std::string(row.words)));
    if (row.decision == "refused") CHECK_THAT(answer.reason, ContainsSubstring("--probe on"));
  }
}

TEST_CASE("a probe that was asked for runs beside others, but not into a wall") {
  struct Row {
    std::string_view name;
    void (*change)(ProbeGate&);
    std::string_view decision;
  };
  const Row rows[] = {
      {"a user", [](ProbeGate& gate) { gate.cards[0].users = {4121}; }, "run"},
      {"memory in use", [](ProbeGate& gate) { gate.cards[0].used_bytes = kGiB; }, "run"},
      {"nobody could tell", [](ProbeGate& gate) { gate.cards_note = "no NVML"; }, "run"},
      {"prohibited", [](ProbeGate& gate) { gate.cards[0].compute_mode = "prohibited"; }, "refused"},
      {"exclusive and free", [](ProbeGate& gate) { gate.cards[0].compute_mode = "exclusive"; },
       "run"},
      {"exclusive and held",
       [](ProbeGate& gate) {
         gate.cards[0].compute_mode = "exclusive";
         gate.cards[0].users = {1};
       },
       "refused"},
      {"MPS", [](ProbeGate& gate) { gate.mps = "/tmp/nvidia-mps/control"; }, "refused"},
      {"little memory", [](ProbeGate& gate) { gate.cards[0].free_bytes = kGiB; }, "refused"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    ProbeGate gate = idle();
    row.change(gate);
    const World world = live(process_with_driver());
    CHECK(word(decided(world, gate, {.mode = ProbeMode::on}).decision) == row.decision);
    CHECK(word(decided(world, gate, {.mode = ProbeMode::require}).decision) == row.decision);
    CHECK(word(decided(world, gate, {.mode = ProbeMode::on, .anyway = true}).decision) == "run");
  }
}

TEST_CASE("off, a replay and a process without a runtime are not probed") {
  const World world = live(process_with_driver());
  CHECK(word(decided(world, idle(), {.mode = ProbeMode::off}).decision) == "not asked");
  for (const SnapshotOrigin origin : {SnapshotOrigin::bundle, SnapshotOrigin::fixture}) {
    const World replay = World(world).with([=](Snapshot& snapshot) { snapshot.origin = origin; });
    CHECK(word(decided(replay, idle(), {.mode = ProbeMode::require}).decision) == "not asked");
  }
  const World empty = live(World().library("/usr/lib/libc.so.6", make_plain("libc.so.6")));
  CHECK(word(decided(empty, idle(), {.mode = ProbeMode::on}).decision) == "impossible");
  const World fake = live(World().library(kShim, shim()));
  CHECK(word(decided(fake, idle(), {.mode = ProbeMode::on}).decision) == "impossible");
  const ProbeRequest run_it{.mode = ProbeMode::on, .look_alikes = true};
  CHECK(word(decide_probe(fake.judge(), idle(), run_it).decision) == "run");
}

TEST_CASE("without any sign of a card only a probe that was asked for runs") {
  const World none = live(process_with_driver()).with([](Snapshot& s) { set_nodes(s, {}); });
  ProbeGate gate;
  gate.asked = true;
  gate.cards_note = "libnvidia-ml.so.1: cannot open shared object file";
  CHECK(word(decided(none, gate).decision) == "impossible");
  CHECK(decided(none, gate).reason == "no NVIDIA GPU here");
  CHECK(word(decided(none, gate, {.mode = ProbeMode::on}).decision) == "run");
  CHECK(word(decided(World(none).kernel_module("580.1"), gate).decision) == "refused");
  const World unread = World(none).with([](Snapshot& snapshot) {
    snapshot.process.rights.device_nodes = Fact<std::vector<DeviceNode>>::unknown("refused");
  });
  CHECK(word(decided(unread, gate).decision) == "refused");
}

TEST_CASE("the child that shows an environment is no user of a card") {
  const World self = live(process_with_driver()).with([](Snapshot& snapshot) {
    snapshot.origin = SnapshotOrigin::self;
    snapshot.environment_only = true;
    snapshot.process.pid = 77;
  });
  ProbeGate gate = idle();
  gate.cards[0].users = {77};
  CHECK(word(decided(self, gate).decision) == "run");
  gate.cards[0].users = {77, 78};
  CHECK(word(decided(self, gate).decision) == "refused");
}

TEST_CASE("only cards that the probe would touch decide") {
  ProbeGate two = idle();
  two.cards[0].name = "NVIDIA H200";
  two.cards.push_back(two.cards[0]);
  two.cards[1].uuid = "GPU-b";
  two.cards[1].node = "/dev/nvidia1";
  two.cards[1].users = {1};
  const auto decided_for = [&](const char* visible, std::vector<int> devices, ProbeGate gate) {
    World world = live(process_with_driver());
    world = visible == nullptr ? world.env("HOME", "/root")
                               : world.env("CUDA_VISIBLE_DEVICES", visible);
    return word(decide_probe(world.judge(), gate, {.devices = std::move(devices)}).decision);
  };
  CHECK(decided_for(nullptr, {}, two) == "refused");
  CHECK(decided_for(nullptr, {0}, two) == "run");
  CHECK(decided_for(nullptr, {1}, two) == "refused");
  CHECK(decided_for("0", {}, two) == "run");
  CHECK(decided_for("1", {}, two) == "refused");
  CHECK(decided_for("1,0", {1}, two) == "run");
  CHECK(decided_for("GPU-a", {}, two) == "run");
  CHECK(decided_for("GPU-b", {}, two) == "refused");
  // What cannot be told counts as all of them.
  CHECK(decided_for("MIG-x", {}, two) == "refused");
  ProbeGate mixed = two;
  mixed.cards[1].name = "NVIDIA L4";
  CHECK(decided_for("0", {}, mixed) == "refused");
}
