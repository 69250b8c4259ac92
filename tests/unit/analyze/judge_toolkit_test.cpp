// RT10, SY02, SY03, SY04: libraries that were not made for each other.
#include "judge_world.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

namespace {

constexpr std::string_view kWheelRuntime =
    "/v/lib/python3.12/site-packages/nvidia/cuda_runtime/lib/libcudart.so.12";
constexpr std::string_view kWheelNvrtc =
    "/v/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12";
constexpr std::string_view kWheelCublas =
    "/v/lib/python3.12/site-packages/nvidia/cublas/lib/libcublas.so.12";
constexpr std::string_view kWheelCupti =
    "/v/lib/python3.12/site-packages/nvidia/cuda_cupti/lib/libcupti.so.12";
constexpr std::string_view kToolkit = "/usr/local/cuda-12.2/targets/x86_64-linux/lib";
constexpr std::string_view kDriver = "/usr/lib/libcuda.so.550.163.01";
constexpr std::string_view kOp = "/x/libop.so";

void check_all(std::string_view id, const std::vector<Situation>& situations) {
  for (const Situation& row : situations) {
    INFO(id << ": " << row.name);
    CHECK(severity_of(row.world.judge(), id) == row.severity);
  }
}

std::string in_toolkit(std::string_view name) {
  return std::string(kToolkit) + "/" + std::string(name);
}

World wheels() {
  return World()
      .library(kWheelRuntime, runtime12())
      .library(kWheelNvrtc, make_nvrtc("libnvrtc.so.12", "12.8.93"))
      .library(kWheelCublas, make_plain("libcublas.so.12"));
}

SyntheticElf asking_driver(std::string symbol, std::vector<std::string> needed) {
  SyntheticElf made = make_plain("libop.so");
  made.elf.needed = std::move(needed);
  made.elf.undefined.push_back({std::move(symbol), {}});
  return made;
}

World driven(SyntheticElf op) {
  return World()
      .library(kReal12, runtime12())
      .library(kDriver, make_driver("550.163.01"))
      .library(kOp, std::move(op));
}

SyntheticElf green() { return asking_driver("cuGreenCtxStreamCreate", {"libcuda.so.1"}); }

constexpr std::string_view kBuiltins = "/n/lib/libnvrtc-builtins.so.12.4";

World nvrtc124() {
  return World().library("/n/lib/libnvrtc.so.12", make_nvrtc("libnvrtc.so.12", "12.4.127"));
}

World reaching(std::string_view soname) {
  return nvrtc124()
      .search("libnvrtc-builtins.so.12.4", kBuiltins)
      .on_disk(kBuiltins, make_plain(soname));
}

DiskEntry folder_with(std::vector<std::string> names) {
  DiskEntry entry;
  entry.kind = DiskKind::directory;
  entry.names = std::move(names);
  return entry;
}

/// A process that was looked at: NVRTC's own directory has these builtins, no other place has any.
World beside(std::vector<std::string> names) {
  return nvrtc124()
      .env("PATH", "/bin")
      .on_disk("/n/lib", folder_with(std::move(names)))
      .with([](Snapshot& snapshot) {
        snapshot.origin = SnapshotOrigin::live;
        snapshot.loader.cache = Fact<std::vector<LoaderCacheEntry>>::known({});
        for (const char* directory :
             {"/n/lib", "/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64",
              "/usr/lib64", "/lib", "/usr/lib"}) {
          DiskEntry absent;
          absent.kind = DiskKind::absent;
          snapshot.disk[std::string(directory) + "/libnvrtc-builtins.so.12.4"] = absent;
        }
      });
}

SyntheticElf versioned(std::vector<std::string> needed, std::string file) {
  SyntheticElf made = make_plain("libop.so");
  made.elf.needed = std::move(needed);
  made.elf.version_needs = {{std::move(file), {"libcudart.so.12"}}};
  return made;
}

World old_op(const SyntheticElf& op) {
  return World().library(kReal12, runtime12()).library(kOp, op);
}

SyntheticElf damaged(SyntheticElf elf) {
  elf.elf.damage = {"symbol table lies past the end"};
  return elf;
}

}  // namespace

TEST_CASE("RT10: libraries of one major from two roots and two releases") {
  SyntheticElf cublas = make_plain("libcublas.so.12");
  check_all(
      "RT10",
      {{"cuBLAS of a toolkit beside the wheels",
        wheels().library(in_toolkit("libcublas.so.12.2.5.6"), cublas), "warning"},
       {"CUPTI of a toolkit, by its directory",
        wheels().library("/usr/local/cuda-12.2/extras/CUPTI/lib64/libcupti.so.2023.2.2",
                         make_plain("libcupti.so.12")),
        "warning"},
       {"nvrtc of another root, by its text",
        World()
            .library(kWheelRuntime, runtime12())
            .library("/opt/c/lib/libnvrtc.so.12", make_nvrtc("libnvrtc.so.12", "12.4.127")),
        "warning"},
       {"CUPTI of a wheel, by its package, and a toolkit's runtime",
        World()
            .package("nvidia-cuda-cupti-cu12", "12.4.127")
            .library(kWheelCupti, make_plain("libcupti.so.12"))
            .library("/usr/local/cuda-12.8/lib64/libcudart.so.12", runtime12()),
        "warning"},
       {"wheels alone", wheels(), "absent"},
       {"wheels of two releases in one site directory: one root",
        World()
            .library(kWheelRuntime, runtime12())
            .library(kWheelNvrtc, make_nvrtc("libnvrtc.so.12", "12.4.127")),
        "absent"},
       {"a toolkit of the same release",
        wheels().library("/usr/local/cuda-12.8/lib64/libcublas.so.12.8.4.1", cublas), "absent"},
       {"another major: a finding of its own",
        wheels().library("/usr/local/cuda-13.0/lib64/libcublas.so.13.1.0.3",
                         make_plain("libcublas.so.13")),
        "absent"},
       {"two runtimes and nothing else: a finding of its own",
        World()
            .library(kWheelRuntime, runtime12())
            .library("/usr/local/cuda-12.2/lib64/libcudart.so.12",
                     make_genuine_runtime("libcudart.so.12", "12.2")),
        "absent"},
       {"a static runtime of another release",
        wheels().library("/x/libnccl.so.2", make_static_copy("12.2")), "absent"},
       {"a private copy under a hashed name",
        wheels().library("/v/lib/python3.12/site-packages/cv.libs/libcudart-41118559.so.12",
                         make_genuine_runtime("libcudart-41118559.so.12", "12.2")),
        "absent"},
       {"mapped as data only", wheels().data(in_toolkit("libcublas.so.12.2.5.6"), cublas),
        "absent"},
       {"its release is not known", wheels().library("/opt/c/lib/libcublas.so.12", cublas),
        "absent"}});
}

TEST_CASE("RT10 names the entry of LD_LIBRARY_PATH that brought the library") {
  const World world =
      wheels()
          .library(in_toolkit("libcublas.so.12.2.5.6"), make_plain("libcublas.so.12"))
          .env("LD_LIBRARY_PATH", "/opt/lib:" + std::string(kToolkit));
  const Report report = world.judge();
  const Finding* finding = find_finding(report, "RT10");
  CHECK(says(finding, "LD_LIBRARY_PATH entry 2 of 2 is " + std::string(kToolkit)));
  CHECK(says(finding, "Take " + std::string(kToolkit) + " out of LD_LIBRARY_PATH"));
  CHECK(
      says(finding, "cublas 12.2 of /usr/local/cuda-12.2: " + in_toolkit("libcublas.so.12.2.5.6")));
  CHECK(says(finding, "cudart 12.8 of " + std::string(kSite)));
  REQUIRE(finding != nullptr);
  CHECK(finding->owner == Owner::user);
}

TEST_CASE("SY02: a driver function that the driver in use does not have") {
  check_all(
      "SY02",
      {{"mapped", driven(green()), "error"},
       {"named by the user",
        World()
            .library(kReal12, runtime12())
            .library(kDriver, make_driver("550.163.01"))
            .named_by_user(kOp, green()),
        "error"},
       {"the driver is only reachable",
        World()
            .library(kReal12, runtime12())
            .library(kOp, green())
            .on_disk("/d/libcuda.so.1", make_driver("550.163.01"))
            .search("libcuda.so.1", "/d/libcuda.so.1"),
        "error"},
       {"the driver has it", driven(asking_driver("cuInit", {"libcuda.so.1"})), "absent"},
       {"a stub is not asked",
        World()
            .library(kReal12, runtime12())
            .library("/usr/local/cuda/lib64/stubs/libcuda.so", make_driver_stub(65536))
            .library(kOp, asking_driver("cuNewest", {"libcuda.so.1"})),
        "absent"},
       {"no driver is known of", World().library(kReal12, runtime12()).library(kOp, green()),
        "absent"},
       {"it does not need the driver",
        driven(asking_driver("cuGreenCtxStreamCreate", {"libother.so"})), "absent"},
       {"a name of libcufile's", driven(asking_driver("cuFileRead", {"libcuda.so.1"})), "absent"},
       {"a name of libcuobj's", driven(asking_driver("cuObjClientGet", {"libcuda.so.1"})),
        "absent"},
       {"too short for a function", driven(asking_driver("cu", {"libcuda.so.1"})), "absent"},
       {"no capital behind cu", driven(asking_driver("cu_init", {"libcuda.so.1"})), "absent"},
       {"no capital, before A", driven(asking_driver("cu0Init", {"libcuda.so.1"})), "absent"},
       {"not CUDA's at all", driven(asking_driver("printf", {"libcuda.so.1"})), "absent"},
       {"the driver's names could not be read", driven(green()).with([](Snapshot& snapshot) {
          for (LoadedObject& object : snapshot.objects) {
            if (object.path() != kDriver) continue;
            ElfFacts cut = *object.elf.get();
            cut.symbols_walked = false;
            object.elf = Fact<ElfFacts>::known(cut);
          }
        }),
        "absent"},
       {"a name of cuBLAS", driven(asking_driver("cublasCreate_v2", {"libcuda.so.1"})), "absent"},
       {"another loaded library defines it",
        driven(green()).library("/h/hook.so",
                                [] {
                                  SyntheticElf made = make_plain("hook.so");
                                  made.elf.exports = {"cuGreenCtxStreamCreate"};
                                  return made;
                                }()),
        "absent"},
       {"the driver's symbols were read in part",
        World()
            .library(kReal12, runtime12())
            .library(kDriver, damaged(make_driver("550.163.01")))
            .library(kOp, green()),
        "absent"}});
  CHECK(says(find_finding(driven(green()).judge(), "SY02"),
             "libop.so needs cuGreenCtxStreamCreate, which the driver 550.163.01 does not have."));
}

TEST_CASE("SY03: NVRTC and the builtins that it would open") {
  check_all(
      "SY03",
      {{"of another release under its name", reaching("libnvrtc-builtins.so.12.8"), "error"},
       {"beside it under a hashed name", beside({"libnvrtc-builtins-6c5639ce.so.12.4"}), "error"},
       {"beside it of another release", beside({"libnvrtc-builtins.so.12.8"}), "error"},
       {"its own", reaching("libnvrtc-builtins.so.12.4"), "absent"},
       {"its own, with a longer soname", reaching("libnvrtc-builtins.so.12.4.127"), "absent"},
       {"what it finds tells no release", reaching("libfoo.so"), "absent"},
       {"no builtins are known of", nvrtc124(), "absent"},
       {"none are there", beside({}), "absent"},
       {"none are there but a header", beside({"nvrtc-builtins.h"}), "absent"},
       {"the search could not be followed",
        beside({"libnvrtc-builtins.so.12.8"}).with([](Snapshot& snapshot) {
          snapshot.environment = Fact<Environment>::unknown("Permission denied");
        }),
        "absent"},
       {"NVRTC is mapped as data only",
        World()
            .data("/n/lib/libnvrtc.so.12", make_nvrtc("libnvrtc.so.12", "12.4.127"))
            .search("libnvrtc-builtins.so.12.4", kBuiltins)
            .on_disk(kBuiltins, make_plain("libnvrtc-builtins.so.12.8")),
        "absent"}});
  const Report hashed = beside({"libnvrtc-builtins-6c5639ce.so.12.4"}).judge();
  CHECK(says(find_finding(hashed, "SY03"),
             "ln -s libnvrtc-builtins-6c5639ce.so.12.4 /n/lib/libnvrtc-builtins.so.12.4"));
}

TEST_CASE("SY04: versions of a library that is not needed") {
  check_all(
      "SY04",
      {{"the old name of a repaired wheel",
        old_op(versioned({"libcudart-41118559.so.12"}, "libcudart.so.12")), "error"},
       {"named by the user",
        World().named_by_user(kOp, versioned({"libc.so.6"}, "libcudart.so.12")), "error"},
       {"NVRTC's", old_op(versioned({"libc.so.6"}, "libnvrtc.so.12")), "error"},
       {"NCCL's", old_op(versioned({"libc.so.6"}, "libnccl.so.2")), "error"},
       {"it needs the file", old_op(versioned({"libcudart.so.12"}, "libcudart.so.12")), "absent"},
       {"both renamed", old_op(versioned({"libcudart-41118559.so.12"}, "libcudart-41118559.so.12")),
        "absent"},
       {"no CUDA library", old_op(versioned({"libc.so.6"}, "ld-linux-x86-64.so.2")), "absent"},
       {"its tables were read in part",
        old_op(damaged(versioned({"libc.so.6"}, "libcudart.so.12"))), "absent"},
       {"only on disk", World().on_disk(kOp, versioned({"libc.so.6"}, "libcudart.so.12")),
        "absent"}});
}
