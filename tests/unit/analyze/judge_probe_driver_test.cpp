// Findings of the driver and the card that only the probe can raise: each code has its causes, each
// cause one finding.
#include "cudart_doctor/analyze/rules.hpp"
#include "probe_world.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

namespace {

void check_all(std::string_view id, const std::vector<Situation>& situations) {
  for (const Situation& row : situations) {
    INFO(id << ": " << row.name);
    CHECK(severity_of(row.world.judge(), id) == row.severity);
  }
}

/// The first call fails; the runtime tells the driver's version.
World first_call(int code, std::optional<int> driver_version) {
  return failing(Stage::devices, code).with([=](Snapshot& snapshot) {
    probed_runtime(snapshot).driver_version = driver_version;
    snapshot.probe.devices.clear();
  });
}

/// Without the host's driver.
World bare(int code, std::optional<int> driver_version) {
  return World().library(kReal12, runtime12()).with(probe_passes).with([=](Snapshot& snapshot) {
    fail_at(snapshot, Stage::devices, code);
    probed_runtime(snapshot).driver_version = driver_version;
    snapshot.probe.devices.clear();
  });
}

SyntheticElf compat_driver() {
  SyntheticElf made = make_driver("590.10.01");
  made.elf.compat_note = "{}";
  return made;
}

World with_compat(int code) {
  return World()
      .library(kReal12, runtime12())
      .library("/usr/local/cuda/compat/libcuda.so.590.10.01", compat_driver())
      .kernel_module("580.105.08")
      .with(probe_passes)
      .with([=](Snapshot& snapshot) { fail_at(snapshot, Stage::devices, code); });
}

World hidden(std::string_view value, int code) {
  return first_call(code, 13000).env("CUDA_VISIBLE_DEVICES", value).with([](Snapshot& snapshot) {
    set_nodes(snapshot, {node("/dev/nvidia0", 0), node("/dev/nvidia1", 1),
                         node("/dev/nvidiactl", 255), node("/dev/nvidia-uvm", 0)});
  });
}

/// Every place where a loader would look for the driver was looked at.
void search_finds_nothing(Snapshot& snapshot) {
  snapshot.origin = SnapshotOrigin::live;
  snapshot.loader.cache = Fact<std::vector<LoaderCacheEntry>>::known({});
  snapshot.environment = Fact<Environment>::known({});
  for (const DiskRequest& request : wanted_by_driver(snapshot)) {
    snapshot.disk[request.path].kind = DiskKind::absent;
  }
}

}  // namespace

TEST_CASE("a probe that passes raises no finding") { CHECK(probed().judge().findings.empty()); }

TEST_CASE("what was skipped raises no finding") {
  const Report report = probed()
                            .with([](Snapshot& snapshot) {
                              for (StageResult& stage : probed_runtime(snapshot).stages) {
                                stage.outcome = StageOutcome::skipped;
                                stage.code = 35;
                              }
                            })
                            .judge();
  CHECK(report.findings.empty());
}

TEST_CASE("DR01 by code 34, once for all that speaks for it") {
  CHECK(grave_ids(first_call(34, 0).judge()) == "DR01");
  const World stub = World()
                         .library(kReal12, runtime12())
                         .library("/stubs/libcuda.so", make_driver_stub(65536))
                         .probe("cudaGetDeviceCount", "34");
  CHECK(grave_ids(stub.judge()) == "DR01");
  CHECK(says(find_finding(stub.judge(), "DR01"), "34 (cudaErrorStubLibrary)"));
}

TEST_CASE("DR02: 35 where the driver's version is 0") {
  check_all("DR02", {{"no driver", bare(35, 0), "critical"},
                     {"the search is known to find none",
                      World(bare(35, std::nullopt)).with(search_finds_nothing), "critical"},
                     {"the driver is too old", bare(35, 11000), "absent"},
                     {"another code", bare(100, 0), "absent"},
                     {"a broken file is in the way",
                      World(bare(35, 0))
                          .on_disk("/d/libcuda.so.1", odd_file(0, "empty file"))
                          .search("libcuda.so.1", "/d/libcuda.so.1"),
                      "absent"},
                     {"a stub is in the way",
                      World(bare(35, 0))
                          .on_disk("/d/libcuda.so.1", make_driver_stub(65536))
                          .search("libcuda.so.1", "/d/libcuda.so.1"),
                      "absent"}});
}

TEST_CASE("DR02 says what was asked for, where, and with which answer") {
  const Report report = World(bare(35, 0)).with(search_finds_nothing).judge();
  const Finding* finding = find_finding(report, "DR02");
  CHECK(says(finding, "35 (cudaErrorInsufficientDriver)"));
  CHECK(says(finding, "driver version 0"));
  CHECK(says(finding, "libcuda.so.1 and nothing else"));
  CHECK(says(finding, "Searched: /"));
  CHECK(says(finding, "/usr/lib"));
}

TEST_CASE("35 with a broken driver file is DR03 alone, with a stub DR01 alone") {
  const World broken = World(bare(35, 0))
                           .on_disk("/d/libcuda.so.1", odd_file(0, "empty file"))
                           .search("libcuda.so.1", "/d/libcuda.so.1");
  CHECK(grave_ids(broken.judge()) == "DR03");
  CHECK(says(find_finding(broken.judge(), "DR03"), "35 (cudaErrorInsufficientDriver)"));
  const World stub = World(bare(35, 0))
                         .on_disk("/d/libcuda.so.1", make_driver_stub(65536))
                         .search("libcuda.so.1", "/d/libcuda.so.1");
  CHECK(grave_ids(stub.judge()) == "DR01");
}

TEST_CASE("DR07: the driver says that it is for an older CUDA") {
  check_all("DR07", {{"older major", first_call(35, 11040), "critical"},
                     {"older minor", first_call(35, 12020), "critical"},
                     {"36", first_call(36, 13000), "critical"},
                     {"by its branch, where it was not asked",
                      World()
                          .library(kReal13, runtime13())
                          .library("/usr/lib/libcuda.so.535.104.05", make_driver("535.104.05"))
                          .probe("cudaGetDeviceCount", "35"),
                      "critical"},
                     {"no driver at all", bare(35, 0), "absent"},
                     {"the driver is newer", first_call(35, 13000), "absent"},
                     {"another code", first_call(100, 11040), "absent"}});
}

TEST_CASE("DR07 is an error where the runtime that is taken works") {
  const World world = probed().library(kReal13, runtime13()).with([](Snapshot& snapshot) {
    ProbedRuntime other = probed_runtime(snapshot);
    other.candidate = 1;
    other.path = kReal13;
    other.selected = false;
    other.runtime_version = 13000;
    other.driver_version = 12080;
    other.stages = {{.stage = Stage::devices, .outcome = StageOutcome::fail, .code = 35}};
    snapshot.probe.runtimes.push_back(other);
  });
  CHECK(severity_of(world.judge(), "DR07") == "error");
}

TEST_CASE("an unexplained 35 is the runtime's finding, not a guess about the driver") {
  CHECK(grave_ids(first_call(35, 13000).judge()) == "SY05");
}

TEST_CASE("DR04: 803 without a compat library, and codes that a mismatch explains") {
  const World mismatch = first_call(100, 13000).kernel_module("580.95.05");
  check_all(
      "DR04",
      {{"803", first_call(803, 13000), "critical"},
       {"803 with equal versions", first_call(803, 13000).kernel_module("580.105.08"), "critical"},
       {"100 with different versions", mismatch, "critical"},
       {"a compat library is in use", with_compat(803), "absent"},
       {"100 with equal versions", first_call(100, 13000).kernel_module("580.105.08"), "absent"}});
  CHECK(grave_ids(mismatch.judge()) == "DR04");
}

TEST_CASE("DR05 and DR06: a compat library that does not fit") {
  check_all("DR05", {{"803, though it is newer", with_compat(803), "critical"},
                     {"newer and fine", with_compat(0), "absent"},
                     {"804", with_compat(804), "absent"},
                     {"803 without one", first_call(803, 13000), "absent"}});
  check_all("DR06", {{"804", with_compat(804), "critical"},
                     {"803", with_compat(803), "absent"},
                     {"a compat library that works", with_compat(0), "absent"}});
}

TEST_CASE("DR09 and DR12 by their codes") {
  check_all("DR09", {{"802", first_call(802, 13000), "critical"},
                     {"later, in the context", failing(Stage::context, 802), "critical"},
                     {"803", first_call(803, 13000), "absent"}});
  check_all("DR12",
            {{"805", first_call(805, 13000), "error"},
             {"810", failing(Stage::context, 810), "error"},
             {"804", first_call(804, 13000), "absent"},
             {"the control socket is there", process_with_driver().with([](Snapshot& snapshot) {
                snapshot.probe.gate.mps = "/tmp/nvidia-mps/control";
              }),
              "info"},
             {"the variable is set", process_with_driver().env("CUDA_MPS_PIPE_DIRECTORY", "/tmp/x"),
              "info"},
             {"neither", process_with_driver(), "absent"}});
}

TEST_CASE("DR11: a driver that fits, and no card") {
  const auto half = [](Snapshot& snapshot) { set_nodes(snapshot, {node("/dev/nvidiactl", 255)}); };
  const auto all = [](Snapshot& snapshot) { set_nodes(snapshot, all_nodes()); };
  check_all(
      "DR11",
      {{"100", first_call(100, 13000), "critical"},
       {"46", failing(Stage::context, 46), "critical"},
       {"46 in the importer", failing(Stage::ipc_import, 46), "critical"},
       {"999 with half of the nodes", first_call(999, 13000).with(half), "critical"},
       {"999 with all of them", first_call(999, 13000).with(all), "absent"},
       {"999 with nodes that were not read", first_call(999, 13000), "absent"},
       {"no visible device, without a code",
        failing(Stage::devices, std::nullopt).with([](Snapshot& s) { s.probe.devices.clear(); }),
        "critical"},
       {"802", first_call(802, 13000), "absent"}});
}

TEST_CASE(
    "a card of --devices that is not here is a slip, no fault of the node, and no clean bill") {
  for (const bool others : {false, true}) {
    const Report report = failing(Stage::devices, std::nullopt)
                              .with([&](Snapshot& snapshot) {
                                snapshot.probe.decision = ProbeDecision::run;
                                stage_of(snapshot, Stage::devices).detail =
                                    "1 visible device; there is no device 63";
                                if (!others) snapshot.probe.devices.clear();
                              })
                              .judge();
    CHECK(report.findings.empty());
    CHECK(report.verdict.exit_code == 3);
    CHECK(report.verdict.undecided.find("a card that was asked for (--devices) is not here") !=
          std::string::npos);
  }
}

TEST_CASE("DR14: CUDA_VISIBLE_DEVICES that leaves no card is the user's affair") {
  struct Row {
    std::string_view value;
    int code;
    bool explains;
  };
  const Row rows[] = {{"", 100, true},     {"7,0", 100, true},   {"-1", 100, true},
                      {"none", 100, true}, {"0,0", 101, true},   {"1,1", 101, true},
                      {"0", 100, false},   {"0,7", 100, false},  {"0,7,1", 100, false},
                      {"1,0", 100, false}, {"GPU-x", 100, false}};
  for (const Row& row : rows) {
    INFO(row.value);
    const Report report = hidden(row.value, row.code).judge();
    CHECK(severity_of(report, "DR11") == (row.explains ? "absent" : "critical"));
    CHECK(severity_of(report, "DR14") == (row.explains ? "error" : "absent"));
    CHECK((report.probe_verdict.owner == Owner::user) == row.explains);
  }
}

TEST_CASE("DR15: a card without free memory") {
  const auto before_a_start = [](Snapshot& snapshot) { snapshot.environment_only = true; };
  check_all("DR15",
            {{"2 at the context", failing(Stage::context, 2).with(before_a_start), "error"},
             {"2 at an allocation", failing(Stage::memory, 2).with(before_a_start), "error"},
             {"2 beside a process", failing(Stage::ipc_import, 2), "info"},
             {"46", failing(Stage::context, 46), "absent"},
             {"wrong bytes", failing(Stage::memory, std::nullopt), "absent"}});
}

/// What was asked of the cards and of the process before the probe.
void two_cards(Snapshot& snapshot) {
  CardUse first;
  first.uuid = "GPU-a";
  first.node = "/dev/nvidia0";
  first.name = "NVIDIA H200 \x1b[31m";
  first.compute_mode = "exclusive";
  first.free_bytes = std::uint64_t{300} << 20U;
  first.users = {4121, 4122};
  CardUse second;
  second.uuid = "GPU-b";
  snapshot.probe.gate.cards = {first, second};
  snapshot.process.rights.cgroup = Fact<std::string>::known("/kubepods/pod\x1b/1");
  snapshot.probe.driver = ProbeDriver{"/usr/lib/libcuda.so.1", {}, 13000};
}

TEST_CASE("a finding of the card names the cards, who holds them, and what was asked of them") {
  const Report held = failing(Stage::context, 46).with(two_cards).judge();
  const Finding* finding = find_finding(held, "DR11");
  CHECK(says(finding,
             "Cards: /dev/nvidia0, compute mode exclusive, held by PID 4121, held by PID "
             "4122; GPU-b"));
  CHECK(says(finding, "cgroup /kubepods/pod\\x1b/1: its device rules were not read"));
  CHECK(says(finding, "The probe got /usr/lib/libcuda.so.1, for CUDA 13.0"));
  CHECK(says(finding, "Set the compute mode back"));
  CHECK(says(find_finding(failing(Stage::context, 2).with(two_cards).judge(), "DR15"),
             "/dev/nvidia0: 300 MiB free, 2 processes on it"));
  CHECK(says(find_finding(with_compat(804).with(two_cards).judge(), "DR06"),
             "Card: NVIDIA H200 \\x1b[31m"));
  const auto no_nodes = [](Snapshot& snapshot) { set_nodes(snapshot, {}); };
  CHECK(says(find_finding(first_call(100, 13000).with(no_nodes).judge(), "DR11"),
             "Device nodes: none; kernel module: not seen"));
}

TEST_CASE("DR08: no image of the sample fits") {
  for (const int code : {200, 209, 218, 222}) {
    INFO(code);
    CHECK(grave_ids(failing(Stage::kernels, code).judge()) == "DR08");
  }
  check_all("DR08", {{"an illegal address", failing(Stage::kernels, 700), "absent"},
                     {"wrong results", failing(Stage::kernels, std::nullopt), "absent"}});
}

TEST_CASE("DR08 tells machine code from PTX, and why PTX fails") {
  const Report ptx = failing(Stage::ptx, 222).judge();
  CHECK(says(find_finding(ptx, "DR08"), "Machine code runs, but the driver refuses PTX"));
  CHECK(says(find_finding(ptx, "DR08"), "PTX alone 222 (cudaErrorUnsupportedPtxVersion)"));
  const Report off = failing(Stage::ptx, 223).env("CUDA_DISABLE_PTX_JIT", "1").judge();
  CHECK(says(find_finding(off, "DR08"), "Unset CUDA_DISABLE_PTX_JIT"));
  CHECK(find_finding(off, "DR08")->owner == Owner::user);
  const Report compiler = failing(Stage::ptx, 221).judge();
  CHECK(says(find_finding(compiler, "DR08"), "libnvidia-ptxjitcompiler.so"));
}

TEST_CASE("DR13: the card computes wrongly, unless the control shows that the runtime does") {
  const auto control = [](StageOutcome outcome) {
    return [outcome](Snapshot& snapshot) {
      stage_of(snapshot, Stage::control).outcome = outcome;
      stage_of(snapshot, Stage::control).code.reset();
    };
  };
  const World wrong = failing(Stage::kernels, std::nullopt);
  check_all(
      "DR13",
      {{"the control is wrong too", World(wrong).with(control(StageOutcome::fail)), "critical"},
       {"the control is right", World(wrong).with(control(StageOutcome::pass)), "absent"},
       {"no control was run", wrong, "critical"},
       {"memory comes back changed", failing(Stage::memory, std::nullopt), "critical"},
       {"memory cannot be had", failing(Stage::memory, 2), "absent"},
       {"an ECC error", failing(Stage::kernels, 214), "critical"},
       {"all is right", probed(), "absent"}});
  CHECK(grave_ids(World(wrong).with(control(StageOutcome::pass)).judge()) == "SY05");
}

TEST_CASE("DR10: NVML that is a stub, of another version, or silent beside a driver") {
  SyntheticElf nvml = make_plain("libnvidia-ml.so.1");
  nvml.elf.file_size = 2'000'000;
  nvml.elf.needed = {"libc.so.6"};
  SyntheticElf stub = make_plain("libnvidia-ml.so.1");
  stub.content.markers = {"This is a stub library"};
  stub.content.markers.front() = "is a stub library";
  const auto note = [](std::string text) {
    return [text](Snapshot& snapshot) { snapshot.probe.gate.cards_note = text; };
  };
  const World driver = process_with_driver().kernel_module("580.105.08");
  const std::string missing = "libnvidia-ml.so.1: cannot open shared object file";
  check_all(
      "DR10",
      {{"a stub", World(driver).library("/s/libnvidia-ml.so.1", stub), "error"},
       {"another version", World(driver).library("/u/libnvidia-ml.so.550.1.2", nvml), "error"},
       {"the driver's version", World(driver).library("/u/libnvidia-ml.so.580.105.08", nvml),
        "absent"},
       {"missing beside a driver", World(driver).with(note(missing)), "error"},
       {"missing where there is no driver", process_with_driver().with(note(missing)), "absent"},
       {"one call failed, the cards are known",
        World(driver).with(note("nvmlDeviceGetComputeMode: 3")).with([](Snapshot& snapshot) {
          snapshot.probe.gate.cards.push_back({.uuid = "GPU-a", .used_bytes = 1});
        }),
        "absent"},
       {"the child that asks was not started",
        World(driver).with(note("NVML's child did not start: setns")), "absent"}});
}

TEST_CASE("a difference of the children's view stands beside what was seen") {
  const Report report =
      World(first_call(100, 13000))
          .with([](Snapshot& snapshot) { snapshot.probe.differences = {"cgroup: another one"}; })
          .judge();
  CHECK(says(find_finding(report, "DR11"), "Not confirmed for this process: cgroup: another one"));
}
