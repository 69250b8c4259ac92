// DR01, DR03, DR04, DR05, SY01, IP01: the driver, symbols that a runtime lacks, the allocator.
#include "cudart_doctor/analyze/rules.hpp"
#include "judge_world.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

namespace {

constexpr std::string_view kDriver = "/usr/lib/libcuda.so.580.105.08";
constexpr std::string_view kStub = "/usr/local/cuda/lib64/stubs/libcuda.so";
constexpr std::string_view kCompat = "/usr/local/cuda/compat/libcuda.so.575.57.08";

void check_all(std::string_view id, const std::vector<Situation>& situations) {
  for (const Situation& row : situations) {
    INFO(id << ": " << row.name);
    CHECK(severity_of(row.world.judge(), id) == row.severity);
  }
}

World runtime() { return World().library(kReal12, runtime12()); }

SyntheticElf driver() { return make_driver("580.105.08"); }

SyntheticElf compat() {
  SyntheticElf made = make_driver("575.57.08");
  made.elf.compat_note = "{}";
  return made;
}

SyntheticElf without_init() {
  SyntheticElf made = driver();
  std::erase(made.elf.exports, "cuInit");
  return made;
}

SyntheticElf cut() {
  SyntheticElf made = driver();
  made.elf.file_size = 200'000;
  return made;
}

World reaching(const SyntheticElf& elf) {
  return runtime().on_disk("/d/libcuda.so.1", elf).search("libcuda.so.1", "/d/libcuda.so.1");
}

World reaching(DiskEntry entry) {
  return runtime()
      .on_disk("/d/libcuda.so.1", std::move(entry))
      .search("libcuda.so.1", "/d/libcuda.so.1");
}

SyntheticElf asking(std::string symbol, std::string node = "libcudart.so.12") {
  SyntheticElf made = make_plain("libop.so");
  made.elf.undefined.push_back({std::move(symbol), std::move(node)});
  return made;
}

constexpr const char* kNewName = "cudaGetDriverEntryPointByVersion";

World old_runtime() {
  return World().library(kReal12, make_genuine_runtime("libcudart.so.12", "12.4", {kNewName}));
}

}  // namespace

TEST_CASE("a driver is absent only where none is mapped and the loader is known to find none") {
  const auto absent = [](World world) {
    return world
        .with([](Snapshot& snapshot) {
          snapshot.origin = SnapshotOrigin::live;
          snapshot.loader.cache = Fact<std::vector<LoaderCacheEntry>>::known({});
          snapshot.environment = Fact<Environment>::known({});
          for (const DiskRequest& each : wanted_by_driver(snapshot)) {
            DiskEntry entry;
            entry.kind = DiskKind::absent;
            snapshot.disk.emplace(each.path, entry);
          }
        })
        .judge()
        .driver_absent;
  };
  CHECK(absent(runtime()));
  CHECK_FALSE(absent(runtime().library(kDriver, driver())));
  CHECK_FALSE(runtime().judge().driver_absent);  // Nobody looked.
  CHECK_FALSE(reaching(driver()).judge().driver_absent);
}

TEST_CASE("DR01: the toolkit's stub, mapped or first in the loader's way") {
  check_all("DR01",
            {{"mapped", runtime().library(kStub, make_driver_stub(65536)), "critical"},
             {"reachable", reaching(make_driver_stub(65536)), "critical"},
             {"mapped, with a driver in the way of the name",
              reaching(driver()).library(kStub, make_driver_stub(65536)), "critical"},
             {"a driver is mapped", runtime().library(kDriver, driver()), "absent"},
             {"a driver is reachable", reaching(driver()), "absent"},
             {"a stub on disk that nothing reaches",
              runtime().on_disk(kStub, make_driver_stub(65536)), "absent"},
             {"mapped as data only", runtime().data(kStub, make_driver_stub(65536)), "absent"},
             {"a driver is mapped, and a stub is reachable",
              reaching(make_driver_stub(65536)).library(kDriver, driver()), "absent"},
             {"no driver is known of", runtime(), "absent"}});
}

TEST_CASE("DR01 names the entry of the variable that brought the stub") {
  const Report report = runtime()
                            .library(kStub, make_driver_stub(65536))
                            .env("LD_LIBRARY_PATH", "/a:/usr/local/cuda/lib64/stubs/:/b")
                            .judge();
  CHECK(says(find_finding(report, "DR01"), "LD_LIBRARY_PATH entry 2 of 3"));
  CHECK(says(find_finding(report, "DR01"),
             "Take /usr/local/cuda/lib64/stubs out of LD_LIBRARY_PATH"));
}

TEST_CASE("DR03: a file in the driver's place that is no driver") {
  SyntheticElf other = driver();
  other.elf.soname = "libelf.so.1";
  check_all("DR03",
            {{"an empty file", reaching(odd_file(0, "empty file")), "critical"},
             {"no ELF file", reaching(odd_file(40, "not an ELF file")), "critical"},
             {"cut", reaching(cut()), "critical"},
             {"another soname", reaching(other), "critical"},
             {"without cuInit", reaching(without_init()), "critical"},
             {"mapped without cuInit", runtime().library(kDriver, without_init()), "critical"},
             {"a driver", reaching(driver()), "absent"},
             {"a stub: a finding of its own", reaching(make_driver_stub(65536)), "absent"},
             {"it could not be read", reaching(odd_file(9, "Permission denied")), "absent"},
             {"a file of another word size", reaching(odd_file(9, "a 32-bit ELF file")), "absent"},
             {"a broken file that nothing reaches",
              runtime().on_disk("/d/libcuda.so.1", odd_file(0, "empty file")), "absent"},
             {"a driver is mapped already",
              reaching(odd_file(0, "empty file")).library(kDriver, driver()), "absent"}});
}

TEST_CASE("DR04: libcuda and kernel module of different versions") {
  const World mapped = runtime().library(kDriver, driver());
  check_all(
      "DR04",
      {{"older module", World(mapped).kernel_module("580.95.05"), "critical"},
       {"newer module", World(mapped).kernel_module("580.159.04"), "critical"},
       {"equal", World(mapped).kernel_module("580.105.08"), "absent"},
       {"equal, but the driver refuses",
        World(mapped).kernel_module("580.105.08").probe("cudaGetDeviceCount", "803"), "critical"},
       {"equal, another code",
        World(mapped).kernel_module("580.105.08").probe("cudaGetDeviceCount", "100"), "absent"},
       {"no such file, as on WSL2 and Jetson", mapped, "absent"},
       {"a compat library", runtime().library(kCompat, compat()).kernel_module("560.1"), "absent"},
       {"a compat library that is older: a finding of its own",
        runtime().library(kCompat, compat()).kernel_module("580.105.08"), "absent"},
       {"a stub has no version",
        runtime().library(kStub, make_driver_stub(65536)).kernel_module("580.105.08"), "absent"}});
}

TEST_CASE("DR05: a compat library older than the kernel module") {
  check_all(
      "DR05",
      {{"older", runtime().library(kCompat, compat()).kernel_module("580.105.08"), "critical"},
       {"older within one branch", runtime().library(kCompat, compat()).kernel_module("575.57.10"),
        "critical"},
       {"newer: what it is for", runtime().library(kCompat, compat()).kernel_module("560.35.03"),
        "absent"},
       {"equal", runtime().library(kCompat, compat()).kernel_module("575.57.08"), "absent"},
       {"a plain driver in a directory of that name",
        runtime().library(kCompat, make_driver("575.57.08")).kernel_module("580.105.08"), "absent"},
       {"the module is not known", runtime().library(kCompat, compat()), "absent"}});
}

TEST_CASE("SY01: a versioned runtime symbol that the serving runtime lacks") {
  check_all(
      "SY01",
      {{"mapped", old_runtime().library("/x/libop.so", asking(kNewName)), "error"},
       {"named by the user", old_runtime().named_by_user("/x/libop.so", asking(kNewName)), "error"},
       {"the runtime has it", runtime().library("/x/libop.so", asking(kNewName)), "absent"},
       {"without a version node", old_runtime().library("/x/libop.so", asking(kNewName, "")),
        "absent"},
       {"another major, which nothing serves",
        old_runtime().library("/x/libop.so", asking(kNewName, "libcudart.so.13")), "absent"},
       {"a driver's node", old_runtime().library("/x/libop.so", asking("cuInit", "libcuda.so.1")),
        "absent"},
       {"the program's own device link",
        old_runtime().library("/x/libop.so", asking("__cudaRegisterLinkedBinary_1_x")), "absent"},
       {"the asking object is only on disk", old_runtime().on_disk("/x/op.so", asking(kNewName)),
        "absent"},
       {"the runtime could not be read",
        World().unread(kReal12, "Permission denied").library("/x/libop.so", asking(kNewName)),
        "absent"}});
}

TEST_CASE("SY01 names a file on disk that has the symbol") {
  const Report report =
      old_runtime().library("/x/libop.so", asking(kNewName)).on_disk(kOther12, runtime12()).judge();
  CHECK(says(find_finding(report, "SY01"),
             "libop.so needs cudaGetDriverEntryPointByVersion, which the CUDA runtime 12.4 here"));
  CHECK(says(find_finding(report, "SY01"), "On disk with the symbol: " + std::string(kOther12)));
}

TEST_CASE("SY01: a vendored runtime serves the node under its own file name") {
  SyntheticElf op = asking(kNewName);
  op.elf.version_needs = {{"libcudart-41118559.so.12", {"libcudart.so.12"}}};
  const auto vendored = [](const std::vector<std::string>& missing) {
    return World().library("/v/libcudart-41118559.so.12",
                           make_genuine_runtime("libcudart-41118559.so.12", "12.4", missing));
  };
  CHECK(severity_of(vendored({kNewName}).library("/x/libop.so", op).judge(), "SY01") == "error");
  CHECK(severity_of(vendored({}).library("/x/libop.so", op).judge(), "SY01") == "absent");
}

TEST_CASE("SY01: a list of symbols that was read in part proves no absence") {
  SyntheticElf old = make_genuine_runtime("libcudart.so.12", "12.4", {kNewName});
  old.elf.damage = {"symbol table lies past the end"};
  const World world = World().library(kReal12, old).library("/x/libop.so", asking(kNewName));
  CHECK(severity_of(world.judge(), "SY01") == "absent");
}

TEST_CASE("SY01: an object whose symbols were not listed says nothing") {
  SyntheticElf unlisted = asking(kNewName);
  unlisted.elf.symbols_walked = false;
  CHECK(severity_of(old_runtime().library("/x/libop.so", unlisted).judge(), "SY01") == "absent");
}

TEST_CASE("IP01: an allocator whose memory legacy handles cannot carry") {
  constexpr std::string_view kOld = "PYTORCH_CUDA_ALLOC_CONF";
  constexpr std::string_view kNew = "PYTORCH_ALLOC_CONF";
  const World set = runtime().env(kOld, "expandable_segments:True");
  check_all("IP01",
            {{"the old variable", set, "warning"},
             {"the new variable", runtime().env(kNew, "expandable_segments:True"), "warning"},
             {"among others", runtime().env(kOld, "max_split_size_mb:64, expandable_segments:True"),
              "warning"},
             {"the pool", runtime().env(kOld, "backend:cudaMallocAsync"), "warning"},
             {"the plain round trip passed", World(set).probe("ipc.local", "0"), "warning"},
             {"the plain round trip failed: another matter", World(set).probe("ipc.local", "1"),
              "absent"},
             {"switched off", runtime().env(kOld, "expandable_segments:False"), "absent"},
             {"another setting", runtime().env(kOld, "max_split_size_mb:64"), "absent"},
             {"the newer variable wins",
              runtime().env(kNew, "max_split_size_mb:64").env(kOld, "expandable_segments:True"),
              "absent"},
             {"no PyTorch in the process", World(set).python(), "absent"},
             {"PyTorch is there, its runtime not yet",
              World().package("torch", "2.11.0").env(kOld, "expandable_segments:True"), "warning"},
             {"a shell that passes it on",
              World()
                  .library("/usr/lib/libc.so.6", make_plain("libc.so.6"))
                  .env(kOld, "expandable_segments:True"),
              "absent"},
             {"the environment is unknown", runtime(), "absent"}});
}
