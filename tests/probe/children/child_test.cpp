// The children's whole order on a runtime and a driver without a GPU: what they tell when all is
// well, and where each fault shows.
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "child_pair.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using probe_test::ChildRecord;
using probe_test::PairOrder;
using probe_test::PairRecord;
using probe_test::run_pair;

namespace {

const std::string kRuntime = FAKE_CUDART;

PairOrder healthy(const std::string& faults = "") {
  return {.runtimes = {kRuntime},
          .environment = {{"LD_LIBRARY_PATH", FAKE_CUDA_DIR}, {"CUDART_DOCTOR_FAKE", faults}}};
}

/// "memory d0 pass": the ends of stages, without details.
std::vector<std::string> stage_lines(const ChildRecord& record) {
  std::vector<std::string> out;
  for (Frame frame : record.frames) {
    if (frame.kind != FrameKind::end) continue;
    frame.stage.detail.clear();
    frame.stage.code.reset();
    frame.stage.call.clear();
    out.push_back(probe_test::describe(frame));
  }
  return out;
}

std::vector<std::string> lines(const ChildRecord& record, FrameKind kind) {
  std::vector<std::string> out;
  for (const Frame& frame : record.frames) {
    if (frame.kind == kind) out.push_back(probe_test::describe(frame));
  }
  return out;
}

bool contains(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

/// The stage that began last and did not end.
std::string open_stage(const ChildRecord& record) {
  std::string open;
  for (const Frame& frame : record.frames) {
    if (frame.kind == FrameKind::begin) open = probe_test::describe(frame);
    if (frame.kind == FrameKind::end) open.clear();
  }
  return open;
}

bool is_done(const ChildRecord& record) {
  return record.status == 0 && !record.frames.empty() &&
         record.frames.back().kind == FrameKind::done;
}

/// A second and third runtime: the same bytes in files of their own.
class Copies {
 public:
  explicit Copies(int count) {
    std::string name = "/tmp/cudart-doctor-probe-XXXXXX";
    directory_ = ::mkdtemp(name.data());
    for (int i = 0; i < count; ++i) {
      files_.push_back(directory_ + "/libcudart-" + std::to_string(i) + ".so.13");
      std::filesystem::copy_file(kRuntime, files_.back());
    }
  }
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;
  ~Copies() { std::filesystem::remove_all(directory_); }
  [[nodiscard]] const std::vector<std::string>& files() const { return files_; }

 private:
  std::string directory_;
  std::vector<std::string> files_;
};

}  // namespace

TEST_CASE("on a healthy runtime both children pass every stage in order") {
  const PairRecord record = run_pair(healthy());
  INFO(record.exporter.output << record.importer.output);
  CHECK(stage_lines(record.exporter) ==
        std::vector<std::string>{"load pass", "symbols pass", "versions pass", "devices pass",
                                 "context d0 pass", "memory d0 pass", "kernels d0 pass",
                                 "control d0 pass", "ptx d0 pass", "ipc_export d0 pass",
                                 "ipc_verify d0 pass", "ipc_event d0 pass", "ipc_close d0 pass",
                                 "ipc_again d0 pass"});
  CHECK(stage_lines(record.importer) ==
        std::vector<std::string>{"load pass", "symbols pass", "versions pass", "devices pass",
                                 "context d0 pass", "ipc_import d0 pass", "ipc_compute d0 pass",
                                 "ipc_event d0 pass", "ipc_close d0 pass", "ipc_again d0 pass"});
  CHECK(is_done(record.exporter));
  CHECK(is_done(record.importer));
}

TEST_CASE("every stage is told before it runs") {
  const PairRecord record = run_pair(healthy());
  for (const ChildRecord* child : {&record.exporter, &record.importer}) {
    std::string open;
    for (const Frame& frame : child->frames) {
      if (frame.kind == FrameKind::begin) {
        CHECK(open.empty());
        open = kStageNames.at(static_cast<std::size_t>(frame.stage.stage));
      }
      if (frame.kind == FrameKind::end) {
        CHECK(open == kStageNames.at(static_cast<std::size_t>(frame.stage.stage)));
        open.clear();
      }
    }
  }
}

TEST_CASE("the mechanisms are told once, with what each did") {
  const auto told = lines(run_pair(healthy()).exporter, FrameKind::mechanism);
  const std::string refused = " d0 fail 1 cudaIpcGetMemHandle (refused by the driver, as expected)";
  CHECK(told.size() == kMechanismNames.size());
  CHECK(contains(told, "mechanism event d0 pass"));
  CHECK(contains(told, "mechanism vmm_socket d0 pass"));
  CHECK(contains(told, "mechanism fabric d0 fail 800 cuMemCreate (the device says yes)"));
  CHECK(contains(told, "mechanism multicast d0 fail (the device says no)"));
  CHECK(contains(told, "mechanism legacy_on_vmm" + refused));
  CHECK(contains(told, "mechanism legacy_on_pool" + refused));
  CHECK(contains(told, "mechanism legacy_on_pinned" + refused));
}

TEST_CASE("the device and the driver in use are told") {
  const PairRecord record = run_pair(healthy());
  const auto devices = lines(record.exporter, FrameKind::device);
  REQUIRE(devices.size() == 2);
  CHECK_THAT(devices[0], ContainsSubstring("GPU-00010203-0405-0607-0809-0a0b0c0d0e0f 9.0"));
  CHECK_THAT(devices[1], ContainsSubstring("SASS"));
  const auto drivers = lines(record.exporter, FrameKind::driver);
  REQUIRE(drivers.size() == 1);
  CHECK_THAT(drivers[0], ContainsSubstring("/libcuda.so.1"));
  const auto inode = std::to_string([] {
    struct stat file = {};
    ::stat(FAKE_CUDA_DIR "/libcuda.so.1", &file);
    return file.st_ino;
  }());
  CHECK_THAT(drivers[0], ContainsSubstring(" " + inode + " 13000"));
}

TEST_CASE("candidates are served in turn, what concerns the driver once") {
  const Copies copies(3);
  PairOrder order = healthy();
  order.runtimes = copies.files();
  const PairRecord record = run_pair(order);
  CHECK(is_done(record.exporter));
  CHECK(is_done(record.importer));
  const auto stages = stage_lines(record.exporter);
  CHECK(std::count(stages.begin(), stages.end(), "ipc_again d0 pass") == 3);
  CHECK(std::count(stages.begin(), stages.end(), "control d0 pass") == 1);
  CHECK(std::count(stages.begin(), stages.end(), "ptx d0 pass") == 1);
  CHECK(lines(record.exporter, FrameKind::mechanism).size() == kMechanismNames.size());
}

TEST_CASE("a candidate that fails leaves the next one its turn") {
  const Copies copies(1);
  PairOrder order = healthy();
  order.runtimes = {PROBE_TOYS "/probe_toy_own.so", copies.files().front()};
  const PairRecord record = run_pair(order);
  CHECK(is_done(record.exporter));
  CHECK(is_done(record.importer));
  CHECK(contains(stage_lines(record.exporter), "ipc_again d0 pass"));
}

namespace {

struct FaultRow {
  const char* faults;
  ProbeSide side;
  const char* line;  ///< The frame that the fault ends in.
};

}  // namespace

TEST_CASE("a fault ends in its own stage, with code and call") {
  const auto row = GENERATE(values<FaultRow>({
      {"cudaRuntimeGetVersion=999", ProbeSide::exporter, "versions fail 999 cudaRuntimeGetVersion"},
      {"cudaGetDeviceCount=100", ProbeSide::exporter, "devices fail 100 cudaGetDeviceCount"},
      {"devices=0", ProbeSide::importer, "devices fail 100 cudaGetDeviceCount"},
      {"cudaSetDevice=46", ProbeSide::exporter, "context d0 fail 46 cudaSetDevice"},
      {"cudaMalloc=2", ProbeSide::exporter, "memory d0 fail 2 cudaMalloc"},
      {"cudaMalloc=2", ProbeSide::importer, "ipc_import d0 skipped (the exporter's memory failed)"},
      {"cudaLaunchKernel=98", ProbeSide::exporter, "control d0 pass"},
      {"cuModuleLoadData=200", ProbeSide::exporter, "control d0 fail 200 cuModuleLoadData"},
      {"cuModuleLoadDataEx=221", ProbeSide::exporter,
       "ptx d0 fail 221 cuModuleLoadDataEx (fake JIT)"},
      {"cudaIpcGetMemHandle=1", ProbeSide::exporter, "ipc_export d0 fail 1 cudaIpcGetMemHandle"},
      {"cudaIpcGetMemHandle=1", ProbeSide::importer,
       "ipc_import d0 skipped (the exporter's export failed)"},
      {"cudaIpcGetMemHandle=1@2", ProbeSide::exporter,
       "ipc_again d0 fail 1 cudaIpcGetMemHandle (ipc_export)"},
      {"cudaIpcOpenMemHandle=201", ProbeSide::importer,
       "ipc_import d0 fail 201 cudaIpcOpenMemHandle"},
      {"cudaIpcOpenMemHandle=201", ProbeSide::exporter,
       "ipc_verify d0 skipped (the importer's cudaIpcOpenMemHandle gave 201)"},
      {"cudaIpcOpenMemHandle=201", ProbeSide::exporter,
       "mechanism legacy_memory d0 fail 201 cudaIpcOpenMemHandle"},
      {"corrupt", ProbeSide::importer,
       "ipc_import d0 fail (buffer does not hold what the exporter wrote)"},
      {"cudaIpcOpenEventHandle=205", ProbeSide::importer,
       "ipc_event d0 fail 205 cudaIpcOpenEventHandle"},
      {"cudaIpcOpenEventHandle=205", ProbeSide::exporter,
       "mechanism event d0 fail 205 cudaIpcOpenEventHandle"},
      {"cudaEventSynchronize=600", ProbeSide::importer,
       "ipc_event d0 fail 600 cudaEventSynchronize"},
      {"cudaIpcCloseMemHandle=1", ProbeSide::importer, "ipc_close d0 fail 1 cudaIpcCloseMemHandle"},
      {"cuMemImportFromShareableHandle=1", ProbeSide::exporter,
       "mechanism vmm_socket d0 fail 1 cuMemImportFromShareableHandle"},
  }));
  INFO(row.faults);
  const PairRecord record = run_pair(healthy(row.faults));
  const ChildRecord& child = row.side == ProbeSide::exporter ? record.exporter : record.importer;
  std::string all;
  bool found = false;
  for (const Frame& frame : child.frames) {
    if (frame.kind == FrameKind::begin) continue;
    std::string line = probe_test::describe(frame);
    // What a stage that passed saw is no part of the expectation.
    if (frame.kind == FrameKind::end && frame.stage.outcome == StageOutcome::pass) {
      line = line.substr(0, line.find(" ("));
    }
    found = found || line == row.line;
    all += line + "\n";
  }
  INFO(all);
  CHECK(found);
  CHECK(is_done(record.exporter));
  CHECK(is_done(record.importer));
}

TEST_CASE("a wrong result names its operator and its place") {
  const auto stages = lines(run_pair(healthy("wrong:mhc_pre")).exporter, FrameKind::end);
  const auto kernels = std::find_if(stages.begin(), stages.end(), [](const std::string& line) {
    return line.starts_with("kernels d0 fail");
  });
  REQUIRE(kernels != stages.end());
  CHECK_THAT(*kernels, ContainsSubstring("mhc_pre"));
  CHECK_THAT(*kernels, ContainsSubstring("[t=0]"));
}

TEST_CASE("an image whose SASS is refused runs as PTX") {
  const PairRecord record = run_pair(healthy("nosass"));
  CHECK(contains(stage_lines(record.exporter), "ipc_again d0 pass"));
  const auto devices = lines(record.exporter, FrameKind::device);
  REQUIRE(devices.size() == 2);
  CHECK_THAT(devices[1], ContainsSubstring("PTX"));
}

TEST_CASE("a child that aborts has told which stage it was in") {
  const PairRecord record = run_pair(healthy("abort:cudaMemset"));
  CHECK(open_stage(record.exporter) == "memory d0 begun");
  CHECK(WIFSIGNALED(record.exporter.status));
  CHECK(WTERMSIG(record.exporter.status) == SIGABRT);
}

TEST_CASE("the importer goes on when the exporter dies, and the other way round") {
  const PairRecord lost_exporter = run_pair(healthy("abort:cudaMemset"));
  CHECK(is_done(lost_exporter.importer));
  CHECK(contains(lines(lost_exporter.importer, FrameKind::end),
                 "ipc_import skipped (the exporter ended)"));
  const PairRecord lost_importer = run_pair(healthy("segv:cudaIpcOpenMemHandle"));
  CHECK(open_stage(lost_importer.importer) == "ipc_import d0 begun");
  CHECK(is_done(lost_importer.exporter));
  CHECK(contains(lines(lost_importer.exporter, FrameKind::end),
                 "ipc_verify d0 skipped (the importer ended)"));
}

TEST_CASE("a call that never returns has told which stage it was in") {
  PairOrder order = healthy("hang:cudaIpcOpenMemHandle");
  order.deadline_ms = 1500;
  const PairRecord record = run_pair(order);
  CHECK(record.importer.late);
  CHECK(open_stage(record.importer) == "ipc_import d0 begun");
  // Nobody is blamed for waiting.
  CHECK(open_stage(record.exporter).empty());
}

TEST_CASE("every ordered pair of two devices is tried") {
  const PairRecord record = run_pair(healthy("devices=2"));
  const auto stages = stage_lines(record.exporter);
  CHECK(contains(stages, "peer_access d0 to d1 pass"));
  CHECK(contains(stages, "peer_access d1 to d0 pass"));
  CHECK(contains(stages, "ipc_verify d0 to d1 pass"));
  CHECK(contains(stages, "ipc_verify d1 to d0 pass"));
  CHECK(contains(stages, "ipc_again d1 pass"));
  CHECK(contains(stage_lines(record.importer), "ipc_import d1 to d0 pass"));
}

TEST_CASE("a device that is not there is said") {
  PairOrder order = healthy();
  order.devices = {0, 7};
  const PairRecord record = run_pair(order);
  CHECK(contains(lines(record.exporter, FrameKind::end),
                 "devices fail (1 visible device; there is no device 7)"));
  CHECK(contains(stage_lines(record.exporter), "ipc_again d0 pass"));
}

TEST_CASE("an exporter alone runs everything but the round trip") {
  PairOrder order = healthy();
  order.importer = false;
  const PairRecord record = run_pair(order);
  CHECK(is_done(record.exporter));
  CHECK(contains(stage_lines(record.exporter), "kernels d0 pass"));
  CHECK(contains(lines(record.exporter, FrameKind::end),
                 "ipc_verify d0 skipped (there is no importer)"));
}

TEST_CASE("a look-alike is asked for symbols and for nothing else") {
  PairOrder order = healthy();
  order.symbols_only = true;
  order.importer = false;
  const PairRecord record = run_pair(order);
  CHECK(stage_lines(record.exporter) == std::vector<std::string>{"load pass", "symbols pass"});
  CHECK(lines(record.exporter, FrameKind::driver).empty());
}

TEST_CASE("names that are missing or another's are told") {
  PairOrder order = healthy();
  order.runtimes = {PROBE_TOYS "/probe_toy_own.so"};
  order.bound_names = {"cudaMalloc", "cudaFree", "cudaDeviceReset"};
  order.symbols_only = true;
  order.importer = false;
  const PairRecord record = run_pair(order);
  const auto names = lines(record.exporter, FrameKind::names);
  REQUIRE(names.size() == 1);
  CHECK_THAT(names[0], ContainsSubstring("missing cudaDeviceReset"));
  CHECK_THAT(names[0], ContainsSubstring("elsewhere cudaFree in "));
  CHECK_THAT(names[0], ContainsSubstring("probe_toy_dependency.so"));
  CHECK(contains(stage_lines(record.exporter), "symbols fail"));
}

TEST_CASE("a preloaded library that answers ahead of the candidate is told") {
  PairOrder order = healthy();
  order.symbols_only = true;
  order.importer = false;
  order.environment.emplace_back("LD_PRELOAD", PROBE_TOYS "/probe_toy_hook.so");
  const auto names = lines(run_pair(order).exporter, FrameKind::names);
  REQUIRE(names.size() == 1);
  CHECK_THAT(names[0], ContainsSubstring("cudaMalloc in "));
  CHECK_THAT(names[0], ContainsSubstring("probe_toy_hook.so, ahead in global scope"));
}

TEST_CASE("a constructor that closes descriptors does not silence the child") {
  PairOrder order = healthy();
  order.runtimes = {PROBE_TOYS "/probe_toy_rude.so"};
  const PairRecord record = run_pair(order);
  CHECK(is_done(record.exporter));
  CHECK(is_done(record.importer));
  CHECK(contains(stage_lines(record.exporter), "load pass"));
  CHECK_THAT(record.exporter.output, ContainsSubstring("hello from a constructor"));
}

TEST_CASE("without a driver the runtime's own code and the driver version 0 are told") {
  PairOrder order = healthy();
  order.environment.front().second = "/nonexistent";
  const PairRecord record = run_pair(order);
  CHECK(contains(lines(record.exporter, FrameKind::end), "devices fail 35 cudaGetDeviceCount"));
  CHECK(contains(lines(record.exporter, FrameKind::versions), "versions runtime 13000 driver 0"));
  CHECK(is_done(record.importer));
}
