// A bundle gives back every field, and hostile ones are refused with the key named.
#include "cudart_doctor/collect/bundle.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cudart_doctor/formats/proc_text.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;

namespace {

ElfFacts full_elf() {
  ElfFacts elf;
  elf.machine = 62;
  elf.type = 3;
  elf.from_memory = true;
  elf.file_size = UINT64_MAX;
  elf.required_size = (1ull << 53) + 1;
  elf.load_segments = 4;
  elf.has_dynamic = true;
  elf.soname = "libcudart.so.12";
  elf.rpath = "$ORIGIN";
  elf.runpath = "";
  elf.interpreter = "/lib64/ld-linux-x86-64.so.2";
  elf.needed = {"libc.so.6", "lib\xff.so"};
  elf.version_base = "libcudart.so.12";
  elf.version_definitions = {"A", "B"};
  elf.version_needs = {{"libc.so.6", {"GLIBC_2.2.5", "GLIBC_2.17"}}};
  elf.has_symbol_versions = true;
  elf.is_symbolic = true;
  elf.build_id = "00ff";
  elf.compat_note = "note";
  elf.device_code_sections = false;
  elf.exports_api = true;
  elf.symbols_walked = true;
  elf.defined_symbols = 9;
  elf.census = {1, 2, 3, 4, 5};
  elf.exports = {"cudaFree"};
  elf.undefined = {{"cuInit", "V"}};
  elf.runtime_nodes = {"", "libcudart.so.12"};
  elf.cu_init_is_constant = true;
  elf.damage = {"cut"};
  return elf;
}

ProcessRights full_rights(std::uint32_t group) {
  ProcessRights rights;
  rights.groups = {group, UINT32_MAX};
  rights.effective = Fact<std::uint64_t>::known(0x1ffffffffff);
  rights.permitted = Fact<std::uint64_t>::known(UINT64_MAX);
  rights.bounding = Fact<std::uint64_t>::unknown("no CapBnd");
  rights.seccomp = Fact<std::uint32_t>::known(2);
  rights.cgroup = Fact<std::string>::known("/docker/\xff");
  rights.device_nodes =
      Fact<std::vector<DeviceNode>>::known({{"/dev/nvidia0", 195, 254, 0660, 7, 44}});
  return rights;
}

PeerFacts full_peer() {
  PeerFacts peer;
  peer.pid = 5000;
  peer.uid = 65534;
  peer.comm = "peer\xff";
  peer.ns_pids = {5000, 1};
  peer.namespaces = {{"pid", 4026532000}};
  peer.rights = full_rights(9);
  peer.visible_devices = Fact<std::string>::known("");
  peer.uuids = {"GPU-1"};
  peer.found_by = "named with --peer";
  return peer;
}

ProbedRuntime full_runtime() {
  ProbedRuntime runtime;
  runtime.candidate = 3;
  runtime.path = "/lib\xff.so";
  runtime.selected = true;
  runtime.look_alike = true;
  runtime.alone = true;
  runtime.skipped = "exists only in memory";
  runtime.opened_by = "map_files";
  runtime.stages = {{Stage::peer_access, StageOutcome::begun, ProbeSide::importer, 1, 2, 217,
                     "cudaMemcpyPeer", "detail\xff"}};
  runtime.runtime_version = 12080;
  runtime.driver_version = 0;
  runtime.missing = {"cudaFree"};
  runtime.elsewhere = {"cudaMalloc in /opt/hook.so"};
  runtime.exporter = {ChildEndKind::left, 9, 77, "out\xff"};
  runtime.importer = {ChildEndKind::exited, -1, 78, "err"};
  return runtime;
}

ProbeFacts full_probe() {
  ProbeFacts probe;
  probe.decision = ProbeDecision::run;
  probe.reason = "asked for";
  probe.required = true;
  probe.gate.asked = true;
  probe.gate.cards = {{"GPU-1", "/dev/nvidia0", "H200", "default", 5, std::nullopt, {4121, 9}}};
  probe.gate.cards_note = "no NVML";
  probe.gate.mps = "/tmp/nvidia-mps";
  probe.differences = {"other groups"};
  probe.devices = {{1, "H200", "GPU-1", 9, 0, UINT64_MAX, 7, "PTX"}};
  probe.driver = ProbeDriver{"/usr/lib/libcuda.so.1", {8, 1, 9}, 13000};
  probe.runtimes = {full_runtime()};
  probe.mechanisms = {
      {Mechanism::vmm_pidfd, StageOutcome::fail, 1, 801, 1, "pidfd_getfd", "EPERM"}};
  probe.environment = {{"CUDA_CACHE_DISABLE", "1"}};
  probe.milliseconds = 480;
  return probe;
}

LoadEvent full_event() {
  LoadEvent event;
  event.kind = LoadKind::unload;
  event.nanoseconds = INT64_MIN;
  event.pid = 4121;
  event.tid = 7;
  event.path = "/lib\xff.so";
  event.key = FileKey{8, 1, UINT64_MAX};
  event.base = UINT64_MAX;
  event.loader_namespace = 2;
  event.order = 12;
  event.cause = LoadCause::opened;
  event.requested = "lib\xff.so";
  event.requester = "/bin/python\xff";
  event.caller = NativeCaller{"/c\xff.so", UINT64_MAX, "init\xff"};
  event.python = {{"/s/a\xff.py", 31, "<module>", "a\xff"}, {"/s/b.py", 9, "load", ""}};
  event.python_note = "cut";
  return event;
}

RecordedProcess full_process() {
  RecordedProcess process;
  process.pid = 4121;
  process.parent_pid = 4100;
  process.began = 5;
  process.executable = "/bin/python\xff";
  process.command_line = {"python", "a\xff"};
  process.recorded = true;
  process.unrecorded = "a static program";
  process.traced = true;
  process.end = ProcessEnd::replaced_by_exec;
  process.status = -1;
  process.judged = JudgeMoment::load;
  process.not_judged = "it was gone";
  process.copy_of = 4100;
  process.worst = Severity::critical;
  process.findings = {"RT04"};
  process.headline = "headline";
  process.undecided = "unread";
  process.lost = UINT64_MAX;
  return process;
}

Recording full_recording() {
  Recording recording;
  recording.command = {"serve", "\xff"};
  recording.recorder = "/tmp/run-x/a\xff.so";
  recording.started_at = "2026-01-02T03:04:05Z";
  recording.duration = 6;
  recording.end = ProcessEnd::signalled;
  recording.status = 9;
  recording.root_pid = 4100;
  recording.ready_when = "port:8000";
  recording.ready = true;
  recording.gated = true;
  recording.stopped = true;
  recording.judged_pid = 4121;
  recording.processes = {full_process(), {}};
  recording.events = {full_event(), {}};
  recording.events_dropped = 3;
  recording.limits = {"musl"};
  return recording;
}

/// Every field away from its default, bytes that are no UTF-8 in every kind of text.
Snapshot full_snapshot() {
  Snapshot snapshot;
  snapshot.origin = SnapshotOrigin::self;
  snapshot.environment_only = true;
  snapshot.self_notes = {"note"};
  snapshot.process.pid = 4121;
  snapshot.process.parent_pid = -1;
  snapshot.process.start_ticks = UINT64_MAX;
  snapshot.process.uid = 0;
  snapshot.process.gid = UINT32_MAX;
  snapshot.process.comm = "a\xff";
  snapshot.process.command_line =
      Fact<std::vector<std::string>>::known({"python", "", std::string("a\0b", 3)});
  snapshot.process.executable = Fact<std::string>::unknown("refused");
  snapshot.process.ns_pids = {4121, 7};
  snapshot.process.namespaces = {{"mnt", 4026531841}};
  snapshot.process.own_namespaces = {{"mnt", 1}, {"net", 2}};
  snapshot.process.threads = 3;
  snapshot.process.libc = "glibc";
  snapshot.process.rights = full_rights(4);
  snapshot.process.own_rights.device_nodes =
      Fact<std::vector<DeviceNode>>::unknown("/dev: refused");
  snapshot.maps = *parse_maps(
      "1000-2000 r-xp 00000000 08:01 7 /a/lib\xff.so\nodd line\n2000-3000 r--p 00000000 08:01 8 "
      "/b");
  LoadedObject object;
  object.key = {8, 1, 7};
  object.paths = {"/a/lib\xff.so", "/a/b\nc"};
  object.marked_deleted = true;
  object.executable = true;
  object.lowest = 0x1000;
  object.rows = {0};
  object.state = FileState::replaced;
  object.state_note = "state";
  object.path_now = FileKey{8, 2, 9};
  object.path_now_build_id = "ab";
  object.route = ReadRoute::memory;
  object.route_note = "route";
  object.elf = Fact<ElfFacts>::known(full_elf());
  ContentScan scan;
  scan.yardstick = {"y"};
  scan.constants = {{12080, 2}};
  scan.markers = {"m"};
  scan.text_version = "12.8";
  scan.bytes = 77;
  object.content = Fact<ContentScan>::known(scan);
  object.slots = Fact<std::vector<Slot>>::known(
      {{"cudaMalloc", "libcudart.so.12", UINT64_MAX, true, 0}, {"cudaFree", "", 0, false, {}}});
  object.uses_rules = {"scan"};
  LoadedObject plain;
  plain.rows = {1};
  plain.content = Fact<ContentScan>::unknown("why");
  snapshot.objects = {object, plain};
  snapshot.link_map = Fact<std::vector<LinkNamespace>>::known(
      {{0, {{0x1000, "", 0u}, {0x2000, "/l\xff", std::nullopt}}, "broken"}});
  Environment environment;
  environment.origin = EnvironmentOrigin::live_memory;
  environment.note = "overwritten";
  environment.variables = {{"A", "1"}, {"A", "\xc3\x28"}, {"B\xff", ""}};
  snapshot.environment = Fact<Environment>::known(environment);
  snapshot.loader.cache =
      Fact<std::vector<LoaderCacheEntry>>::known({{"libcudart.so.12", "/usr/lib/x", 0x303, true}});
  snapshot.loader.given_searches = {{"libcudart.so", "/x"}};
  snapshot.python.is_python = true;
  snapshot.python.site_directories = {"/s"};
  snapshot.python.unread_directories = {"/t: refused"};
  snapshot.python.distributions = {{"vllm", "0.9", "/s"}};
  snapshot.python.chosen_by = "VIRTUAL_ENV";
  DiskEntry entry;
  entry.kind = DiskKind::file;
  entry.note = "n";
  entry.key = {1, 2, 3};
  entry.size = 5;
  entry.real_path = "/r";
  entry.elf = Fact<ElfFacts>::unknown("no ELF file");
  entry.content = Fact<ContentScan>::known({});
  entry.text = Fact<std::string>::known("\x80text");
  entry.names = {"a", "b"};
  snapshot.disk = {{"/d\xff", entry}, {"/e", {}}};
  snapshot.installed = {{"/i", "CUDA_HOME"}};
  snapshot.owners = {{"/i", Fact<FileOwner>::known({PackageKind::rpm, "cuda-cudart", "12.8"})},
                     {"/j\xff", Fact<FileOwner>::unknown("refused")}};
  snapshot.host.name = "node";
  snapshot.host.kernel = "6.1";
  snapshot.host.kernel_module = Fact<std::string>::known("550.1");
  snapshot.host.ptrace_scope = Fact<int>::known(3);
  snapshot.host.no_ipc_sign = "WSL2: /dev/dxg is there";
  snapshot.host.given = {{"k", "v"}};
  snapshot.host.given_probe = {{"p", "q"}};
  snapshot.capture.taken_at = "2026-01-02T03:04:05Z";
  snapshot.capture.maps_reads = 2;
  snapshot.capture.maps_consistent = false;
  snapshot.capture.objects_read = 1;
  snapshot.capture.not_elf = 4;
  snapshot.capture.unread = {"u"};
  snapshot.capture.static_searched = 5;
  snapshot.capture.static_skipped = 6;
  snapshot.capture.notes = {"n"};
  snapshot.peers = {full_peer(), {}};
  snapshot.probe = full_probe();
  snapshot.recording = RecordingFact::known(full_recording());
  return snapshot;
}

class Folder {
 public:
  Folder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "doctor-bundle-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// What is written for a value, changed by `change` before it is read.
template <typename Change>
Error error_after(Change change) {
  const Snapshot snapshot = full_snapshot();
  auto document = nlohmann::json::parse(snapshot_to_json(snapshot));
  change(document);
  auto result = snapshot_from_json(document.dump(), snapshot.maps.text, "dir/snapshot.json");
  REQUIRE_FALSE(result);
  return result.error();
}

}  // namespace

TEST_CASE("a snapshot comes back from a bundle as it was") {
  Folder folder;
  const Snapshot before = full_snapshot();
  const std::string directory = folder.path() + "/bundle";
  REQUIRE(write_bundle(before, directory));
  auto after = read_bundle(directory);
  REQUIRE(after);
  // Text by text: the writer is the same, so equal JSON means equal fields as far as it lists them;
  // the single values below stand for what a writer could drop.
  CHECK(snapshot_to_json(*after) == snapshot_to_json(before));
  CHECK(after->maps.text == before.maps.text);
  CHECK(after->maps.rows.size() == 2);
  CHECK(after->maps.odd_lines == 1);
  CHECK(after->process.comm == "a\xff");
  CHECK(after->process.start_ticks == UINT64_MAX);
  CHECK(after->process.command_line.get()->at(2) == std::string("a\0b", 3));
  CHECK(after->process.executable.reason() == "refused");
  CHECK(after->objects[0].paths == before.objects[0].paths);
  CHECK(after->objects[0].state == FileState::replaced);
  CHECK(after->objects[0].path_now->inode == 9);
  CHECK(after->objects[0].elf.get()->required_size == (1ull << 53) + 1);
  CHECK(after->objects[0].elf.get()->runpath == "");
  CHECK(after->objects[0].elf.get()->device_code_sections == false);
  CHECK(after->objects[0].elf.get()->census.hip == 5);
  CHECK(after->objects[0].elf.get()->undefined[0].version == "V");
  CHECK(after->objects[0].elf.get()->runtime_nodes ==
        std::vector<std::string>{"", "libcudart.so.12"});
  CHECK_FALSE(after->objects[1].elf.is_asked());
  CHECK(after->objects[1].content.reason() == "why");
  const Slot& slot = after->objects[0].slots.get()->at(0);
  CHECK(slot.name == "cudaMalloc");
  CHECK(slot.version == "libcudart.so.12");
  CHECK(slot.address == UINT64_MAX);
  CHECK(slot.bound);
  CHECK(slot.object == 0u);
  CHECK_FALSE(after->objects[0].slots.get()->at(1).object);
  CHECK_FALSE(after->objects[1].slots.is_asked());
  CHECK(after->owners.at("/i").get()->kind == PackageKind::rpm);
  CHECK(after->owners.at("/i").get()->version == "12.8");
  CHECK(after->owners.at("/j\xff").reason() == "refused");
  CHECK(after->link_map.get()->front().entries[0].object == 0u);
  CHECK_FALSE(after->link_map.get()->front().entries[1].object);
  CHECK(after->environment.get()->variables == before.environment.get()->variables);
  CHECK(after->disk.at("/d\xff").text.get()->front() == '\x80');
  CHECK(after->loader.cache.get()->front().hwcap);
  CHECK(after->host.given_probe.at("p") == "q");
}

TEST_CASE("what a process may do comes back from a bundle") {
  const Snapshot before = full_snapshot();
  const auto after = snapshot_from_json(snapshot_to_json(before), before.maps.text, "s");
  REQUIRE(after);
  const ProcessRights& rights = after->process.rights;
  CHECK(rights.groups == std::vector<std::uint32_t>{4, UINT32_MAX});
  CHECK(*rights.effective.get() == 0x1ffffffffff);
  CHECK(*rights.permitted.get() == UINT64_MAX);
  CHECK(rights.bounding.reason() == "no CapBnd");
  CHECK(*rights.seccomp.get() == 2);
  CHECK(*rights.cgroup.get() == "/docker/\xff");
  const DeviceNode& node = rights.device_nodes.get()->at(0);
  CHECK(node.path == "/dev/nvidia0");
  CHECK(node.dev_major == 195);
  CHECK(node.dev_minor == 254);
  CHECK(node.mode == 0660);
  CHECK(node.uid == 7);
  CHECK(node.gid == 44);
  CHECK(after->process.own_rights.device_nodes.reason() == "/dev: refused");
  CHECK_FALSE(after->process.own_rights.effective.is_asked());
  CHECK(*after->host.ptrace_scope.get() == 3);
  CHECK(after->host.no_ipc_sign == "WSL2: /dev/dxg is there");
}

TEST_CASE("peers come back from a bundle") {
  const Snapshot before = full_snapshot();
  const auto after = snapshot_from_json(snapshot_to_json(before), before.maps.text, "s");
  REQUIRE(after);
  REQUIRE(after->peers.size() == 2);
  const PeerFacts& peer = after->peers[0];
  CHECK(peer.pid == 5000);
  CHECK(peer.uid == 65534U);
  CHECK(peer.comm == "peer\xff");
  CHECK(peer.ns_pids == std::vector<std::int64_t>{5000, 1});
  CHECK(peer.namespaces.at("pid") == 4026532000);
  CHECK(peer.rights.groups.front() == 9);
  CHECK(peer.visible_devices.is_known());
  CHECK(peer.uuids == std::vector<std::string>{"GPU-1"});
  CHECK(peer.found_by == "named with --peer");
  CHECK_FALSE(after->peers[1].visible_devices.is_asked());
  CHECK_FALSE(after->peers[1].uid);
}

TEST_CASE("a probe comes back from a bundle") {
  const Snapshot before = full_snapshot();
  const auto after = snapshot_from_json(snapshot_to_json(before), before.maps.text, "s");
  REQUIRE(after);
  const ProbeFacts& probe = after->probe;
  CHECK(probe.decision == ProbeDecision::run);
  CHECK(probe.reason == "asked for");
  CHECK(probe.required);
  CHECK(probe.gate.asked);
  CHECK(probe.gate.cards.at(0).users == std::vector<std::int64_t>{4121, 9});
  CHECK(probe.gate.cards[0].used_bytes == 5U);
  CHECK_FALSE(probe.gate.cards[0].free_bytes);
  CHECK(probe.gate.mps == "/tmp/nvidia-mps");
  CHECK(probe.differences.size() == 1);
  CHECK(probe.devices.at(0).image == "PTX");
  CHECK(probe.driver->key.inode == 9);
  CHECK(probe.mechanisms.at(0).mechanism == Mechanism::vmm_pidfd);
  CHECK(probe.mechanisms[0].error == 1);
  CHECK(probe.environment.at("CUDA_CACHE_DISABLE") == "1");
  CHECK(probe.milliseconds == 480);
  const ProbedRuntime& runtime = probe.runtimes.at(0);
  CHECK(runtime.candidate == 3);
  CHECK(runtime.alone);
  CHECK(runtime.stages.at(0).stage == Stage::peer_access);
  CHECK(runtime.stages[0].outcome == StageOutcome::begun);
  CHECK(runtime.stages[0].side == ProbeSide::importer);
  CHECK(runtime.stages[0].peer_device == 2);
  CHECK(runtime.stages[0].code == 217);
  CHECK(runtime.driver_version == 0);
  CHECK(runtime.elsewhere == std::vector<std::string>{"cudaMalloc in /opt/hook.so"});
  CHECK(runtime.exporter.kind == ChildEndKind::left);
  CHECK(runtime.importer.status == -1);
}

TEST_CASE("a recording comes back from a bundle") {
  const Snapshot before = full_snapshot();
  const auto after = snapshot_from_json(snapshot_to_json(before), before.maps.text, "s");
  REQUIRE(after);
  const Recording* recording = after->recording.get();
  REQUIRE(recording != nullptr);
  CHECK(recording->command == std::vector<std::string>{"serve", "\xff"});
  CHECK(recording->recorder == "/tmp/run-x/a\xff.so");
  CHECK(recording->started_at == "2026-01-02T03:04:05Z");
  CHECK(recording->duration == 6);
  CHECK(recording->end == ProcessEnd::signalled);
  CHECK(recording->status == 9);
  CHECK(recording->root_pid == 4100);
  CHECK(recording->ready_when == "port:8000");
  CHECK((recording->ready && recording->gated && recording->stopped));
  CHECK(recording->judged_pid == 4121);
  CHECK(recording->events_dropped == 3);
  CHECK(recording->limits == std::vector<std::string>{"musl"});
  const LoadEvent& event = recording->events.at(0);
  CHECK(event.kind == LoadKind::unload);
  CHECK(event.nanoseconds == INT64_MIN);
  CHECK(event.tid == 7);
  CHECK(event.path == "/lib\xff.so");
  CHECK(event.key == FileKey{8, 1, UINT64_MAX});
  CHECK(event.base == UINT64_MAX);
  CHECK(event.loader_namespace == 2);
  CHECK(event.order == 12);
  CHECK(event.cause == LoadCause::opened);
  CHECK(event.requested == "lib\xff.so");
  CHECK(event.requester == "/bin/python\xff");
  CHECK(event.caller->symbol == "init\xff");
  CHECK(event.python.at(0).line == 31);
  CHECK(event.python.at(1).function == "load");
  CHECK(event.python_note == "cut");
  const RecordedProcess& process = recording->processes.at(0);
  CHECK(process.parent_pid == 4100);
  CHECK(process.began == 5);
  CHECK(process.recorded);
  CHECK(process.end == ProcessEnd::replaced_by_exec);
  CHECK(process.judged == JudgeMoment::load);
  CHECK(process.not_judged == "it was gone");
  CHECK(process.copy_of == 4100);
  CHECK(process.worst == Severity::critical);
  CHECK(process.findings == std::vector<std::string>{"RT04"});
  CHECK(process.lost == UINT64_MAX);
  CHECK_FALSE(recording->processes.at(1).worst);
}

TEST_CASE("a bundle from before recordings is one of a process that was not recorded") {
  auto document = nlohmann::json::parse(snapshot_to_json(full_snapshot()));
  document.erase("recording");
  const auto after = snapshot_from_json(document.dump(), full_snapshot().maps.text, "s");
  REQUIRE(after);
  CHECK_FALSE(after->recording.is_asked());
  CHECK(after->probe.milliseconds == 480);
}

TEST_CASE("every key of the format is needed and is named when it is missing") {
  const auto names = {"origin",    "environment_only", "self_notes", "process", "objects",
                      "link_map",  "environment",      "loader",     "python",  "disk",
                      "installed", "owners",           "host",       "capture", "peers",
                      "probe"};
  for (const std::string name : names) {
    const Error error = error_after([&](auto& document) { document.erase(name); });
    CHECK(error.kind == ErrorKind::malformed);
    CHECK(error.message == "dir/snapshot.json: " + name + " is missing");
  }
}

TEST_CASE("wrong types, huge numbers and lying indices are refused by name") {
  struct Row {
    const char* pointer;
    nlohmann::json value;
    const char* message;
  };
  const std::vector<Row> rows = {
      {"/process/pid", "x", "process.pid is not a whole number"},
      {"/process/pid", 1.5, "process.pid is not a whole number"},
      {"/process/uid", 4294967296u, "process.uid is out of range"},
      {"/process/threads", -1, "process.threads is not a whole number"},
      {"/process/start_ticks", 1e300, "process.start_ticks is not a whole number"},
      {"/objects/0/state", "melted", "objects.0.state has an unknown value"},
      {"/objects/0/paths", 7, "objects.0.paths is not a list"},
      {"/objects/0/paths/0", {{"hex", "zz"}}, "objects.0.paths.0 is not a text"},
      {"/objects/0/rows/0", 2, "objects.0.rows names a line that maps does not have"},
      {"/objects/1/elf", {{"known", 1}, {"unknown", "x"}}, "objects.1.elf is not a fact"},
      {"/objects/0/slots/known/0/object", 2, "objects.0.slots names an object that is not there"},
      {"/link_map/known/0/entries/0/object", 9, "link_map names an object that is not there"},
      {"/environment/known/variables/0", {"A"}, "environment.variables.0 is not a pair"},
      {"/python/is_python", 1, "python.is_python is not true or false"},
      {"/host", nlohmann::json::array(), "host is not an object"},
  };
  for (const auto& row : rows) {
    const Error error = error_after(
        [&](auto& document) { document[nlohmann::json::json_pointer(row.pointer)] = row.value; });
    INFO(row.pointer);
    CHECK(error.kind == ErrorKind::malformed);
    CHECK_THAT(error.message, ContainsSubstring(row.message));
  }
}

TEST_CASE("another bundle version is unsupported, not malformed") {
  const Error error = error_after([](auto& document) { document["bundle_version"] = 2; });
  CHECK(error.kind == ErrorKind::unsupported);
  CHECK_THAT(error.message, ContainsSubstring("bundle_version is 2"));
}

TEST_CASE("text that is no JSON object is malformed") {
  const std::string text =
      GENERATE(std::string(), std::string("[1,2"), std::string("[]"), std::string("\xff\xfe"),
               std::string(100000, '['), std::string("{\"bundle_version\": 1"));
  auto result = snapshot_from_json(text, "", "snapshot.json");
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == ErrorKind::malformed);
}

TEST_CASE("a directory with something in it is not written to") {
  Folder folder;
  std::ofstream(folder.path() + "/other") << "x";
  auto done = write_bundle(full_snapshot(), folder.path());
  REQUIRE_FALSE(done);
  CHECK(done.error().kind == ErrorKind::usage);
  CHECK_FALSE(std::filesystem::exists(folder.path() + "/maps"));
}

TEST_CASE("bundle files are private and links are not followed") {
  Folder folder;
  const std::string directory = folder.path() + "/bundle";
  REQUIRE(write_bundle(full_snapshot(), directory));
  using std::filesystem::perms;
  CHECK(std::filesystem::status(directory).permissions() == perms::owner_all);
  CHECK(std::filesystem::status(directory + "/maps").permissions() ==
        (perms::owner_read | perms::owner_write));
  std::filesystem::rename(directory + "/maps", folder.path() + "/elsewhere");
  CHECK(read_bundle(directory).error().kind == ErrorKind::not_found);
  std::filesystem::create_symlink(folder.path() + "/elsewhere", directory + "/maps");
  auto result = read_bundle(directory);
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == ErrorKind::malformed);
  CHECK_THAT(result.error().message, ContainsSubstring("symbolic link"));
}

TEST_CASE("a bundle file beyond 256 MiB is refused unread") {
  Folder folder;
  const std::string directory = folder.path() + "/bundle";
  REQUIRE(write_bundle(full_snapshot(), directory));
  std::filesystem::resize_file(directory + "/snapshot.json", (256u << 20) + 1);  // Sparse.
  auto result = read_bundle(directory);
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == ErrorKind::limit);
}
