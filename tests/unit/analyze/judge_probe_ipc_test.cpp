// Findings about sharing memory: by the probe's round trips, by settings and rights, and by the
// target's peers.
#include <cerrno>

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

World mechanism(Mechanism which, MechanismResult result) {
  result.mechanism = which;
  return probed().with([=](Snapshot& snapshot) { snapshot.probe.mechanisms.push_back(result); });
}

World descriptor(int error) {
  return mechanism(Mechanism::vmm_pidfd,
                   {.outcome = error == 0 ? StageOutcome::pass : StageOutcome::fail,
                    .error = error,
                    .call = "pidfd_getfd"});
}

World between_cards(Stage stage, std::optional<int> code) {
  return probed().with([=](Snapshot& snapshot) {
    StageResult& result = add_stage(snapshot, stage, 1);
    result.code = code;
    result.device = 0;
    result.peer_device = 1;
  });
}

struct Peer {
  std::int64_t pid = 50;
  std::int64_t inner = 7;
  std::uint64_t pid_namespace = 2;
};

/// The target is PID 40, and 1 in its namespace 1.
World beside(const Peer& peer) {
  return process_with_driver().with([=](Snapshot& snapshot) {
    snapshot.process.pid = 40;
    snapshot.process.ns_pids = {40, 1};
    snapshot.process.namespaces["pid"] = 1;
    PeerFacts facts;
    facts.pid = peer.pid;
    facts.ns_pids = {peer.pid, peer.inner};
    facts.namespaces["pid"] = peer.pid_namespace;
    facts.found_by = "named with --peer";
    snapshot.peers.push_back(facts);
  });
}

auto open_gives(std::string code) {
  return [code](Snapshot& snapshot) { snapshot.host.given_probe["ipc.peer.open"] = code; };
}

auto peer_nodes(std::vector<DeviceNode> nodes) {
  return [nodes](Snapshot& snapshot) {
    set_nodes(snapshot, all_nodes());
    snapshot.peers.front().rights.device_nodes = Fact<std::vector<DeviceNode>>::known(nodes);
  };
}

auto uuids(std::vector<std::string> own, std::vector<std::string> theirs) {
  return [own, theirs](Snapshot& snapshot) {
    for (const std::string& uuid : own) snapshot.probe.devices.push_back({.uuid = uuid});
    snapshot.peers.front().uuids = theirs;
  };
}

}  // namespace

TEST_CASE("IP09: a round trip that fails, once however many runtimes it fails for") {
  check_all("IP09", {{"the handle is not opened", failing(Stage::ipc_import, 1), "error"},
                     {"the data is wrong", failing(Stage::ipc_verify, std::nullopt), "error"},
                     {"the second round", failing(Stage::ipc_again, 208), "error"},
                     {"the importer crashes", crashing(Stage::ipc_compute), "error"},
                     {"all is right", probed(), "absent"},
                     {"CUDA did not start", failing(Stage::devices, 100), "absent"},
                     {"the export was skipped", probed().with([](Snapshot& snapshot) {
                        stage_of(snapshot, Stage::ipc_export).outcome = StageOutcome::skipped;
                      }),
                      "absent"}});
  const World twice = failing(Stage::ipc_import, 1).with([](Snapshot& snapshot) {
    ProbedRuntime copy = probed_runtime(snapshot);
    snapshot.probe.runtimes.push_back(copy);
  });
  CHECK(grave_ids(twice.judge()) == "IP09");
}

TEST_CASE("IP09 names step, side and code") {
  const Report report = failing(Stage::ipc_import, 1)
                            .with([](Snapshot& snapshot) {
                              stage_of(snapshot, Stage::ipc_import).call = "cudaIpcOpenMemHandle";
                            })
                            .judge();
  CHECK(says(find_finding(report, "IP09"),
             "cudaIpcOpenMemHandle gave 1 (cudaErrorInvalidValue): stage ipc_import, importer, "
             "device 0, libcudart.so.12 12.8"));
}

TEST_CASE("a side that was ended because the other crashed is no failure of its own") {
  const Report report = crashing(Stage::ipc_import)
                            .with([](Snapshot& snapshot) {
                              ProbedRuntime& runtime = probed_runtime(snapshot);
                              runtime.importer = {.kind = ChildEndKind::signalled, .status = 11};
                              runtime.exporter = {.kind = ChildEndKind::killed};
                              stage_of(snapshot, Stage::ipc_verify).outcome = StageOutcome::begun;
                            })
                            .judge();
  CHECK(grave_ids(report) == "IP09");
  CHECK_FALSE(says(find_finding(report, "IP09"), "ipc_verify"));
}

TEST_CASE("a side that was ended for records that cannot be read is a failure") {
  const Report report = crashing(Stage::ipc_import)
                            .with([](Snapshot& snapshot) {
                              ProbedRuntime& runtime = probed_runtime(snapshot);
                              runtime.importer = {.kind = ChildEndKind::killed};
                              runtime.exporter = {.kind = ChildEndKind::killed};
                            })
                            .judge();
  CHECK(grave_ids(report) == "IP09");
}

TEST_CASE("IP09: descriptors over a socket, which FlashInfer needs") {
  const auto socket = [](StageOutcome outcome, int code) {
    return mechanism(Mechanism::vmm_socket,
                     {.outcome = outcome, .code = code, .call = "cuMemImportFromShareableHandle"});
  };
  check_all("IP09", {{"refused", socket(StageOutcome::fail, 999), "error"},
                     {"passed", socket(StageOutcome::pass, 0), "absent"},
                     {"skipped", socket(StageOutcome::skipped, 0), "absent"},
                     {"the driver has none", socket(StageOutcome::fail, 801), "absent"}});
  const Report report = socket(StageOutcome::fail, 999).judge();
  CHECK(says(find_finding(report, "IP09"), "FlashInfer"));
  CHECK(says(find_finding(report, "IP09"), "999 (CUDA_ERROR_UNKNOWN)"));
}

TEST_CASE("IP06: between two cards only") {
  check_all("IP06",
            {{"217", between_cards(Stage::peer_access, 217), "error"},
             {"a copy that is wrong", between_cards(Stage::peer_access, std::nullopt), "error"},
             {"217 at the import", between_cards(Stage::ipc_import, 217), "error"},
             {"wrong data", between_cards(Stage::ipc_verify, std::nullopt), "error"},
             {"another code of the import", between_cards(Stage::ipc_import, 1), "absent"},
             {"within one card", failing(Stage::ipc_import, 217), "absent"},
             {"one card", probed(), "absent"}});
}

TEST_CASE("IP04: platforms without CUDA IPC") {
  const auto wsl = [](Snapshot& snapshot) {
    snapshot.host.no_ipc_sign = "WSL2: kernel release 5.15-microsoft";
  };
  check_all("IP04",
            {{"WSL2", process_with_driver().with(wsl), "error"},
             {"WSL2, and the round trip fails", failing(Stage::ipc_import, 400).with(wsl), "error"},
             {"801", failing(Stage::ipc_export, 801), "error"},
             {"no runtime is loaded",
              World().library("/usr/lib/libc.so.6", make_plain("libc.so.6")).with(wsl), "absent"},
             {"another platform", probed(), "absent"}});
  CHECK(grave_ids(failing(Stage::ipc_import, 400).with(wsl).judge()) == "IP04");
}

TEST_CASE("IP05: a descriptor cannot be taken out of another process") {
  constexpr std::string_view kSetting = "expandable_segments:True";
  check_all("IP05", {{"EPERM, and expandable segments are on",
                      descriptor(EPERM).env("PYTORCH_CUDA_ALLOC_CONF", kSetting), "error"},
                     {"EPERM, and nothing needs it", descriptor(EPERM).env("A", "b"), "info"},
                     {"it works", descriptor(0).env("PYTORCH_CUDA_ALLOC_CONF", kSetting), "absent"},
                     {"a CUDA code is no matter of rights",
                      mechanism(Mechanism::vmm_pidfd, {.outcome = StageOutcome::fail, .code = 999}),
                      "absent"},
                     {"not tried", probed(), "absent"}});
}

TEST_CASE("IP05 names what decides, and does not call EBADF a matter of rights") {
  const Report report = descriptor(EPERM)
                            .with([](Snapshot& snapshot) {
                              snapshot.host.ptrace_scope = Fact<int>::known(1);
                              snapshot.process.rights.effective = Fact<std::uint64_t>::known(0);
                              snapshot.process.rights.seccomp = Fact<std::uint32_t>::known(2);
                            })
                            .judge();
  CHECK(says(find_finding(report, "IP05"), "ptrace_scope is 1"));
  CHECK(says(find_finding(report, "IP05"), "CAP_SYS_PTRACE: not in force"));
  CHECK(says(find_finding(report, "IP05"), "seccomp: a filter is in force"));
  const Report odd = descriptor(EBADF).judge();
  CHECK(says(find_finding(odd, "IP05"), "EBADF is no matter of rights"));
  CHECK_FALSE(says(find_finding(odd, "IP05"), "CAP_SYS_PTRACE (--cap-add"));
}

TEST_CASE("IP01 cites the probe's own attempt, and yields where such memory can be exported") {
  constexpr std::string_view kVariable = "PYTORCH_CUDA_ALLOC_CONF";
  const auto attempt = [&](Mechanism which, StageOutcome outcome, int code, std::string call) {
    return mechanism(which, {.outcome = outcome, .code = code, .call = std::move(call)})
        .env(kVariable, "expandable_segments:True");
  };
  const World refused =
      attempt(Mechanism::legacy_on_vmm, StageOutcome::fail, 1, "cudaIpcGetMemHandle");
  check_all("IP01",
            {{"refused", refused, "warning"},
             {"exported", attempt(Mechanism::legacy_on_vmm, StageOutcome::pass, 0, ""), "absent"},
             {"another kind of memory was exported",
              attempt(Mechanism::legacy_on_pool, StageOutcome::pass, 0, ""), "warning"},
             {"the memory could not be made",
              attempt(Mechanism::legacy_on_vmm, StageOutcome::fail, 2, "cuMemCreate"), "warning"},
             {"cards do not reach each other: another matter",
              between_cards(Stage::ipc_import, 217).env(kVariable, "expandable_segments:True"),
              "warning"},
             {"the round trip failed",
              failing(Stage::ipc_import, 1).env(kVariable, "expandable_segments:True"), "absent"}});
  CHECK(says(find_finding(refused.judge(), "IP01"), "was refused, 1 (cudaErrorInvalidValue)"));
  CHECK(says(find_finding(refused.judge(), "IP01"), "round trip passed"));
}

TEST_CASE("IP02: another PID namespace is a fault only with the same inner PID, or refused") {
  check_all("IP02",
            {{"same inner PID", beside({.inner = 1}), "error"},
             {"other inner PID", beside({}), "info"},
             {"other inner PID, refused", beside({}).with(open_gives("201")), "error"},
             {"same namespace", beside({.pid_namespace = 1}), "absent"},
             {"namespaces that are not known", beside({.inner = 1}).with([](Snapshot& snapshot) {
                snapshot.peers.front().namespaces.clear();
              }),
              "absent"},
             {"inner PIDs that are not known", beside({.inner = 1}).with([](Snapshot& snapshot) {
                snapshot.peers.front().ns_pids.clear();
              }),
              "info"},
             {"no peer", process_with_driver(), "absent"}});
}

TEST_CASE("IP03: cards that the peer does not have") {
  const World same = beside({.pid_namespace = 1});
  const std::vector<DeviceNode> others = {node("/dev/nvidia0", 5), node("/dev/nvidiactl", 255)};
  check_all(
      "IP03",
      {{"a node is missing", World(same).with(peer_nodes({node("/dev/nvidiactl", 255)})), "error"},
       {"a node of the same name is another card", World(same).with(peer_nodes(others)), "error"},
       {"all nodes are there", World(same).with(peer_nodes(all_nodes())), "absent"},
       {"nodes that were not read", World(same), "absent"},
       {"101", World(same).with(open_gives("101")), "error"},
       {"1 where the cards differ",
        World(same).with(uuids({"GPU-a"}, {"GPU-b"})).with(open_gives("1")), "error"},
       {"1 where they do not", World(same).with(uuids({"GPU-a"}, {"GPU-a"})).with(open_gives("1")),
        "absent"},
       {"other UUIDs", World(same).with(uuids({"GPU-a"}, {"GPU-b"})), "error"},
       {"other UUIDs, and the import works",
        World(same).with(uuids({"GPU-a"}, {"GPU-b"})).with(open_gives("0")), "absent"},
       {"other UUIDs by the variable alone",
        World(same).with(uuids({"GPU-a"}, {"GPU-b"})).with([](Snapshot& snapshot) {
          snapshot.peers.front().visible_devices = Fact<std::string>::known("1");
        }),
        "absent"},
       {"another order", World(same).with(uuids({"GPU-a", "GPU-b"}, {"GPU-b", "GPU-a"})),
        "warning"},
       {"the peer's own order", World(same).with(uuids({"GPU-a", "GPU-b"}, {"GPU-a", "GPU-b"})),
        "absent"}});
}

TEST_CASE("IP07: a process that opens its own handle, and a handle of another node") {
  check_all("IP07",
            {{"the target is its own peer", beside({.pid = 40, .pid_namespace = 1}), "warning"},
             {"400", beside({.pid_namespace = 1}).with(open_gives("400")), "error"},
             {"400 on WSL2",
              beside({.pid_namespace = 1}).with(open_gives("400")).with([](Snapshot& snapshot) {
                snapshot.host.no_ipc_sign = "WSL2";
              }),
              "absent"},
             {"the same inner PID in another namespace", beside({.inner = 1}), "absent"},
             {"another process", beside({.pid_namespace = 1}), "absent"}});
}

TEST_CASE("a refusal by the peer that nothing explains is IP09, and only then") {
  const World same = beside({.pid_namespace = 1});
  check_all("IP09", {{"1", World(same).with(open_gives("1")), "error"},
                     {"0", World(same).with(open_gives("0")), "absent"},
                     {"201 by the namespaces", beside({}).with(open_gives("201")), "absent"},
                     {"101 by the cards", World(same).with(open_gives("101")), "absent"}});
}

TEST_CASE("IP08: what stands between the program and CUDA") {
  SyntheticElf hook = make_plain("hook.so");
  hook.elf.exports = {"cudaFree", "cudaMalloc"};
  const World mapped = process_with_driver().library("/opt/hook.so", hook);
  const auto elsewhere = [](Snapshot& snapshot) {
    probed_runtime(snapshot).elsewhere = {"cudaMalloc in /opt/hook.so"};
  };
  check_all("IP08",
            {{"preloaded", World(mapped).env("LD_PRELOAD", "/x.so:/opt/hook.so"), "warning"},
             {"preloaded by name", World(mapped).env("LD_PRELOAD", "hook.so"), "warning"},
             {"mapped, not preloaded", mapped, "absent"},
             {"preloaded, without CUDA names",
              process_with_driver()
                  .library("/opt/jemalloc.so", make_plain("jemalloc.so"))
                  .env("LD_PRELOAD", "/opt/jemalloc.so"),
              "absent"},
             {"the runtime itself is preloaded", process_with_driver().env("LD_PRELOAD", kReal12),
              "absent"},
             {"a name resolves elsewhere", probed().with(elsewhere), "warning"},
             {"a tool is injected", process_with_driver().env("CUDA_INJECTION64_PATH", "/nsys.so"),
              "warning"},
             {"the variable is empty", process_with_driver().env("CUDA_INJECTION64_PATH", ""),
              "absent"}});
}

TEST_CASE("IP08 says whose slots point into the hook") {
  SyntheticElf hook = make_plain("hook.so");
  hook.elf.exports = {"cudaMalloc"};
  const auto bound = [](Snapshot& snapshot) {
    std::uint32_t target = 0;
    for (std::uint32_t i = 0; i < snapshot.objects.size(); ++i) {
      if (snapshot.objects[i].path() == "/opt/hook.so") target = i;
    }
    snapshot.objects[target == 0 ? 1 : 0].slots =
        Fact<std::vector<Slot>>::known({{"cudaMalloc", "", 1, true, target}});
  };
  const Report report = process_with_driver()
                            .library("/opt/hook.so", hook)
                            .env("LD_PRELOAD", "/opt/hook.so")
                            .with(bound)
                            .judge();
  CHECK(says(find_finding(report, "IP08"), "takes over cudaMalloc; used by "));
}

TEST_CASE("SY01 by the probe: a genuine runtime without a name that consumers bind") {
  const auto lacks = [](Snapshot& snapshot) {
    fail_at(snapshot, Stage::symbols, std::nullopt);
    probed_runtime(snapshot).missing = {"cudaDeviceReset"};
  };
  CHECK(grave_ids(probed().with(lacks).judge()) == "SY01");
  check_all("SY01", {{"a look-alike that lacks it",
                      World().library(kShim, shim()).with([](Snapshot& snapshot) {
                        ProbedRuntime runtime;
                        runtime.look_alike = true;
                        runtime.path = kShim;
                        runtime.missing = {"cudaDeviceReset"};
                        snapshot.probe.decision = ProbeDecision::run;
                        snapshot.probe.runtimes = {runtime};
                      }),
                      "absent"},
                     {"nothing is missing", probed(), "absent"}});
}

TEST_CASE("SY05: a genuine runtime that cannot be loaded or used") {
  check_all("SY05",
            {{"a cut file", failing(Stage::file, std::nullopt), "error"},
             {"not loaded", failing(Stage::load, std::nullopt), "error"},
             {"a crash while loading", crashing(Stage::load, "SIGBUS"), "error"},
             {"a hang in the context", crashing(Stage::context, "no answer within 10 s"), "error"},
             {"an illegal address in a kernel", failing(Stage::kernels, 700), "error"},
             {"a stub of the driver", failing(Stage::devices, 34), "absent"},
             {"IPC", failing(Stage::ipc_import, 1), "absent"},
             {"the probe's child did not start",
              failing(Stage::file, std::nullopt).with([](Snapshot& snapshot) {
                stage_of(snapshot, Stage::file).stage = Stage::start;
              }),
              "absent"},
             {"little memory", failing(Stage::context, 2), "absent"},
             {"loaded behind another /proc",
              failing(Stage::load, std::nullopt).with([](Snapshot& snapshot) {
                snapshot.process.namespaces = {{"pid", 1}, {"mnt", 1}};
                snapshot.process.own_namespaces = {{"pid", 2}, {"mnt", 2}};
              }),
              "absent"}});
  CHECK(says(find_finding(crashing(Stage::load, "SIGBUS").judge(), "SY05"), "(SIGBUS)"));
}

TEST_CASE("RT05 is an error where runtimes of one major get in each other's way") {
  // Two of one public soname are an error anyhow: the other copy is a vendored one here.
  const World two = probed().library("/v/libcudart-41118559.so.12",
                                     make_genuine_runtime("libcudart-41118559.so.12", "12.4"));
  const auto beside = [](Snapshot& snapshot) { fail_at(snapshot, Stage::kernels, 400); };
  const auto alone = [](Snapshot& snapshot) { probed_runtime(snapshot).alone = true; };
  // The runner repeats alone what failed, and notes it where that passes.
  const auto passed_alone = [](Snapshot& snapshot) {
    StageResult note = stage_of(snapshot, Stage::kernels);
    note.outcome = StageOutcome::skipped;
    note.side = ProbeSide::runner;
    note.code = 400;
    note.detail = "failed beside other runtimes, passed alone: ";
    probed_runtime(snapshot).alone = true;
    probed_runtime(snapshot).stages.push_back(note);
  };
  check_all("RT05",
            {{"two copies", two, "warning"},
             {"400 beside each other", World(two).with(beside), "error"},
             {"400 alone", World(two).with(beside).with(alone), "warning"},
             {"400 beside each other, none alone", World(two).with(passed_alone), "error"}});
  CHECK(says(find_finding(World(two).with(passed_alone).judge(), "RT05"), "passed alone"));
}

TEST_CASE("RT03 and RT04 cite what loading the look-alike showed") {
  const World world =
      World().library(kShim, shim()).library(kReal12, runtime12()).with([](Snapshot& snapshot) {
        ProbedRuntime runtime;
        runtime.look_alike = true;
        runtime.path = kShim;
        runtime.missing = {"cudaDeviceReset"};
        runtime.stages = {{.stage = Stage::symbols, .outcome = StageOutcome::fail}};
        snapshot.probe.decision = ProbeDecision::run;
        snapshot.probe.runtimes = {runtime};
      });
  const std::string sentence = "The probe loaded it: it lacks cudaDeviceReset";
  CHECK(says(find_finding(world.judge(), "RT03"), sentence));
  CHECK(says(find_finding(world.judge(), "RT04"), sentence));
}

TEST_CASE("a record with an index that is no candidate's harms nothing") {
  const Report report =
      crashing(Stage::load)
          .with([](Snapshot& snapshot) { probed_runtime(snapshot).candidate = 4'000'000'000; })
          .judge();
  CHECK(severity_of(report, "SY05") == "error");
}
