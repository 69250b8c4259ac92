// RT01, RT02, RT03, RT05, RT06, RT11: what is there, apart from who takes it.
#include "cudart_doctor/model/link_map_reasons.hpp"
#include "judge_world.hpp"
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

SyntheticElf needing(std::string soname) {
  SyntheticElf made = make_plain("libop.so");
  made.elf.needed.push_back(std::move(soname));
  return made;
}

SyntheticElf using_symbol(std::string symbol) {
  SyntheticElf made = make_plain("libop.so");
  made.elf.undefined.push_back({std::move(symbol), {}});
  return made;
}

World plain() { return World().library("/usr/lib/libm.so.6", make_plain("libm.so.6")); }

}  // namespace

TEST_CASE("RT01: no runtime, shared or static, and everything was read") {
  check_all(
      "RT01",
      {{"nothing asks for one", plain(), "info"},
       {"a library needs one", plain().library("/x/libop.so", needing("libcudart.so.12")), "error"},
       {"a library uses its functions", plain().library("/x/libop.so", using_symbol("cudaMalloc")),
        "error"},
       {"only a look-alike is there", World().library(kShim, shim()), "info"},
       {"only a data mapping of a runtime", plain().data(kReal12, runtime12()), "info"},
       {"an unread file that is no library", plain().unread("/dev/shm/jit", "not an ELF file"),
        "info"},
       {"a runtime is mapped", plain().library(kReal12, runtime12()), "absent"},
       {"a runtime of another major than the needed one",
        World().library(kReal13, runtime13()).library("/x/libop.so", needing("libcudart.so.12")),
        "absent"},
       {"a runtime is linked in", plain().library("/x/server", make_static_copy("12.4")), "absent"},
       {"a suspect could not be read", plain().unread(kReal12, "Permission denied"), "absent"},
       {"any library could not be read: it may be one",
        plain().unread("/x/libfoo.so", "Permission denied"), "absent"}});
}

TEST_CASE("while its loader has not run, a process lacks nothing and nothing is decided") {
  World starting = plain().library("/x/app", needing("libcudart.so.12")).with([](Snapshot& s) {
    s.link_map = Fact<std::vector<LinkNamespace>>::unknown(std::string(kLoaderHasNotRun));
  });
  const Report report = starting.judge();
  CHECK(severity_of(report, "RT01") == "absent");
  CHECK(report.verdict.undecided == kLoaderHasNotRun);
  CHECK(report.verdict.exit_code == 3);
}

TEST_CASE("RT01 names the runtime that is needed and the wheel that brings it") {
  const auto report_for = [](std::string_view soname) {
    return plain().library("/x/libop.so", needing(std::string(soname))).judge();
  };
  CHECK(says(find_finding(report_for("libcudart.so.12"), "RT01"),
             "Install libcudart.so.12 (wheel nvidia-cuda-runtime-cu12,"));
  CHECK(says(find_finding(report_for("libcudart.so.13"), "RT01"), "(wheel nvidia-cuda-runtime,"));
  CHECK(says(find_finding(report_for("libcudart.so.99"), "RT01"), "was built for"));
}

TEST_CASE("RT02: static copies only") {
  const World copy = World().library("/x/server", make_static_copy("12.4"));
  check_all(
      "RT02",
      {{"one copy", copy, "warning"},
       {"two copies", World(copy).library("/x/libnccl.so.2", make_static_copy("12.8")), "warning"},
       {"a copy and a shim", World(copy).library(kShim, shim()), "warning"},
       {"a shared runtime as well", World(copy).library(kReal12, runtime12()), "absent"},
       {"a suspect could not be read", World(copy).unread(kReal12, "I/O error"), "absent"},
       {"none", plain(), "absent"},
       {"mapped as data only", plain().data("/x/server", make_static_copy("12.4")), "absent"}});
}

TEST_CASE("RT03: a look-alike, warning where a name rule could select it") {
  const auto stand_in = make_lookalike("libcudart.so.12", {"cudaMemset"});
  check_all(
      "RT03",
      {{"the shim", World().library(kShim, shim()), "warning"},
       {"a stand-in with the public name", World().library("/app/libcudart.so.12", stand_in),
        "warning"},
       {"an empty stub", World().library("/x/libcudart_mock.so", make_plain()), "warning"},
       {"the renamed shim",
        World().library("/t/libstub_cudart.so", make_lookalike("libstub_cudart.so")), "info"},
       {"a runtime without a name that consumers do not bind",
        World().library(kReal12, make_genuine_runtime("libcudart.so.12", "12.4",
                                                      {"cudaGetDriverEntryPointByVersion"})),
        "absent"},
       {"a vendored runtime",
        World().library("/v/libcudart-d0da41ae.so.11.0",
                        make_genuine_runtime("libcudart-d0da41ae.so.11.0", "11.8")),
        "absent"},
       {"the shim as data only", World().data(kShim, shim()), "absent"},
       {"a shim that could not be read", World().unread(kShim, "Permission denied"), "absent"},
       {"a driver stub", World().library("/x/stubs/libcuda.so", make_driver_stub(65536)),
        "absent"}});
}

TEST_CASE("RT03 names what is missing and the package") {
  const Report report = World()
                            .library(std::string(kSite) + "/tilelang/lib/libcudart_stub.so", shim())
                            .package("tilelang", "0.1.11")
                            .judge();
  const Finding* finding = find_finding(report, "RT03");
  CHECK(says(finding, "Lacks 1 of 11 names that consumers bind: cudaDeviceReset"));
  CHECK(says(finding, "tilelang 0.1.11"));
}

TEST_CASE("RT05: copies of one major, error under one public soname") {
  const World pair = World().library(kReal12, runtime12()).library(kOther12, runtime12());
  const auto vendored = make_genuine_runtime("libcudart-41118559.so.12", "12.4");
  const World with_vendored =
      World().library(kReal12, runtime12()).library("/v/libcudart-41118559.so.12", vendored);
  check_all(
      "RT05",
      {{"one soname", pair, "error"},
       {"a vendored one beside the public one", with_vendored, "warning"},
       {"two vendored ones of one soname",
        World()
            .library("/a/libcudart-41118559.so.12", vendored)
            .library("/b/libcudart-41118559.so.12", vendored),
        "warning"},
       {"a vendored one, and the application saw 400",
        World(with_vendored).probe("app.reported", "400"), "error"},
       {"a vendored one, and the application saw 98",
        World(with_vendored).probe("app.reported", "98"), "error"},
       {"a vendored one, and the application saw 2",
        World(with_vendored).probe("app.reported", "2"), "warning"},
       {"two majors", World().library(kReal12, runtime12()).library(kReal13, runtime13()),
        "absent"},
       {"one", World().library(kReal12, runtime12()), "absent"},
       {"a static copy beside it",
        World().library(kReal12, runtime12()).library("/x/s", make_static_copy("12.4")), "absent"},
       {"a shim beside it", World().library(kReal12, runtime12()).library(kShim, shim()), "absent"},
       {"a data mapping beside it",
        World().library(kReal12, runtime12()).data(kOther12, runtime12()), "absent"},
       {"a second one on disk only",
        World().library(kReal12, runtime12()).on_disk(kOther12, runtime12()), "absent"}});
  CHECK(says(find_finding(pair.judge(), "RT05"), "Only load order decides"));
}

TEST_CASE("RT05: one file in two loader namespaces is two runtimes, hard links in one are one") {
  const auto in = [](std::vector<LinkNamespace> spaces) {
    return World().library(kReal12, runtime12()).with([spaces](Snapshot& s) {
      s.link_map = Fact<std::vector<LinkNamespace>>::known(spaces);
    });
  };
  const LinkEntry program{0, "", std::nullopt};
  const LinkEntry runtime{0, std::string(kReal12), 0};
  const LinkEntry link{0, "/n/link/libcudart.so.12", 0};
  const Report twice = in({{0, {program, runtime}, {}}, {1, {runtime}, {}}}).judge();
  CHECK(severity_of(twice, "RT05") == "warning");
  CHECK(says(find_finding(twice, "RT05"), "In loader namespaces 0 and 1"));
  CHECK(severity_of(in({{0, {program, runtime, link}, {}}}).judge(), "RT05") == "absent");
}

TEST_CASE("RT05 tells two copies of one version apart by build-ids that a line has room for") {
  const auto built = [](std::string build_id) {
    SyntheticElf made = runtime12();
    made.elf.build_id = std::move(build_id);
    return made;
  };
  const Report report = World()
                            .library(kReal12, built("7b1714ea2d766ca35afe1e3dd34a75b41b78999f"))
                            .library(kOther12, built("c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00"))
                            .judge();
  const Finding* finding = find_finding(report, "RT05");
  CHECK(says(finding, std::string(kReal12) + ", version 12.8, build-id 7b1714ea2d76, soname"));
  CHECK(says(finding, std::string(kOther12) + ", version 12.8, build-id c0ffee00c0ff, soname"));
}

TEST_CASE("RT05 says which copy the soname gives, and who uses which") {
  const auto loaded = [](Snapshot& snapshot) {
    // The one at the higher address was loaded first.
    snapshot.link_map = Fact<std::vector<LinkNamespace>>::known(
        {{0, {{0, std::string(kOther12), 1}, {0, std::string(kReal12), 0}, {0, "/u.so", 2}}, {}}});
    snapshot.objects[2].slots =
        Fact<std::vector<Slot>>::known({{"cudaMalloc", "libcudart.so.12", 1, true, 0}});
  };
  SyntheticElf user = make_plain("u.so");
  user.elf.needed = {"libcudart.so.12"};
  const Report report = World()
                            .library(kReal12, runtime12())
                            .library(kOther12, runtime12())
                            .library("/u.so", user)
                            .with(loaded)
                            .judge();
  const Finding* finding = find_finding(report, "RT05");
  CHECK(says(finding, "libcudart.so.12 gives " + std::string(kOther12)));
  CHECK(says(finding, std::string(kOther12) + ", version 12.8, soname libcudart.so.12, needed by"));
  CHECK(says(finding, "used by u.so (1 name)"));
}

TEST_CASE("RT06: two majors, critical where cuDNN's front end would refuse") {
  const World pair = World().library(kReal12, runtime12()).library(kReal13, runtime13());
  const World frontend =
      World(pair).library("/v/cudnn/_compiled_module.so", make_plain()).uses("cudnn-fe");
  const World reachable = World()
                              .library(kReal12, runtime12())
                              .on_disk(kReal13, runtime13())
                              .search("libcudart.so.13", kReal13);
  check_all(
      "RT06",
      {{"both mapped", pair, "warning"},
       {"with the front end", frontend, "critical"},
       {"with the front end and its override",
        World(frontend).env("CUDNN_FRONTEND_CUDART_LIB_NAME", "libcudart.so.12"), "warning"},
       {"with an override that is empty", World(frontend).env("CUDNN_FRONTEND_CUDART_LIB_NAME", ""),
        "critical"},
       {"a front end that does not read the override",
        World(frontend)
            .package("nvidia-cudnn-frontend", "1.24.0")
            .env("CUDNN_FRONTEND_CUDART_LIB_NAME", "libcudart.so.12"),
        "critical"},
       {"a front end that only warns", World(frontend).package("nvidia-cudnn-frontend", "1.25.0"),
        "warning"},
       {"the second one is only reachable", reachable, "info"},
       {"reachable, with the front end",
        World(reachable).library("/v/cudnn/_compiled_module.so", make_plain()).uses("cudnn-fe"),
        "critical"},
       {"one major twice", World().library(kReal12, runtime12()).library(kOther12, runtime12()),
        "absent"},
       {"one", World().library(kReal12, runtime12()), "absent"},
       {"the second one mapped as data, and nothing reaches it",
        World().library(kReal12, runtime12()).data(kReal13, runtime13()), "absent"},
       {"a static copy of another major",
        World().library(kReal12, runtime12()).library("/x/s", make_static_copy("13.0")),
        "absent"}});
}

TEST_CASE("RT11: an override that is set and not read") {
  constexpr std::string_view kVariable = "VLLM_CUDART_SO_PATH";
  const World set = World().library(kReal12, runtime12()).env(kVariable, "/o/libcudart.so.12");
  const World valid = World(set).on_disk("/o/libcudart.so.12", runtime12());
  const World missing = World(set).not_on_disk("/o/libcudart.so.12");
  const World nothing_mapped = plain().env(kVariable, "/o/libcudart.so.12");
  check_all(
      "RT11",
      {{"the scan finds a match", valid, "warning"},
       {"the scan of vLLM itself finds a match", World(valid).package("vllm", "0.28.0"), "warning"},
       {"it names a missing file", missing, "error"},
       {"it names a missing file, and vLLM is here", World(missing).package("vllm", "0.28.0"),
        "error"},
       {"it would be read, and names a missing file",
        World(nothing_mapped).not_on_disk("/o/libcudart.so.12"), "error"},
       {"nothing is found, so it is read",
        World(nothing_mapped).on_disk("/o/libcudart.so.12", runtime12()), "absent"},
       {"only SGLang is here, which does not read it", World(valid).package("sglang", "0.5.20"),
        "warning"},
       {"no consumer is here", World(valid).python(), "info"},
       {"it names what the scan takes",
        World().library(kReal12, runtime12()).env(kVariable, kReal12), "absent"},
       {"not set", World().library(kReal12, runtime12()).env("HOME", "/root"), "absent"},
       {"the environment is unknown", World().library(kReal12, runtime12()), "absent"}});
  CHECK(says(find_finding(valid.judge(), "RT11"), "there is a file of that name"));
  CHECK(says(find_finding(set.judge(), "RT11"), "Whether the value leads to a file is not known"));
}

TEST_CASE(
    "RT11: only an absolute path can be known to lead nowhere, and a link leads to its file") {
  constexpr std::string_view kVariable = "VLLM_CUDART_SO_PATH";
  const auto set_to = [&](std::string_view value) {
    return World().library(kReal12, runtime12()).env(kVariable, value);
  };
  const auto leads_to = [](std::uint64_t inode, std::string_view real_path) {
    DiskEntry entry = elf_file(inode, runtime12().elf);
    entry.real_path = real_path;
    return entry;
  };
  constexpr std::string_view kRelative = "./lib/libcudart.so.12";
  constexpr std::string_view kLink = "/o/../o/libcudart.so";
  check_all("RT11", {{"relative", set_to(kRelative).not_on_disk(kRelative), "warning"},
                     {"empty", set_to("").not_on_disk(""), "warning"},
                     {"a name for the loader",
                      set_to("libcudart.so.12").not_on_disk("libcudart.so.12"), "warning"},
                     {"another way to the same inode",
                      set_to(kLink).on_disk(kLink, leads_to(100, "/o/libcudart.so")), "absent"},
                     {"a link to the same path",
                      set_to(kLink).on_disk(kLink, leads_to(4711, kReal12)), "absent"},
                     {"a link to another file",
                      set_to(kLink).on_disk(kLink, leads_to(4711, "/o/other.so")), "warning"}});
  CHECK(says(find_finding(set_to(kRelative).judge(), "RT11"), "directory was not captured"));
  const Report unmapped = plain().env(kVariable, kRelative).not_on_disk(kRelative).judge();
  for (const Selection& row : unmapped.selections) {
    if (row.policy == "vllm-2026-07") CHECK(row.open == OpenOutcome::unknown);
  }
  CHECK(says(find_finding(set_to("").judge(), "RT11"), "would open the main program"));
}

TEST_CASE("RT11: cuDNN's front end before 1.25 does not read its override") {
  const World set = World()
                        .library(kReal12, runtime12())
                        .env("CUDNN_FRONTEND_CUDART_LIB_NAME", "libcudart.so.12");
  check_all("RT11", {{"1.24", World(set).package("nvidia-cudnn-frontend", "1.24.0"), "warning"},
                     {"1.25", World(set).package("nvidia-cudnn-frontend", "1.25.0"), "absent"},
                     {"not installed", World(set).python(), "absent"},
                     {"unknown", set, "absent"}});
}
