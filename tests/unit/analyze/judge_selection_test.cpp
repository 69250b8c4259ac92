// RT04, RT07, RT08: when a scanning rule's answer is a finding, how grave, and whose name it bears.
#include <algorithm>

#include "judge_world.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

namespace {

/// The shim below the real runtime: the old scans take it, the new ones do not.
World shim_first() { return World().library(kShim, shim()).library(kReal12, runtime12()); }

World two_runtimes() {
  return World().library(kReal12, runtime12()).library(kOther12, runtime12());
}

SyntheticElf silent_shim() {
  SyntheticElf made = shim();
  made.elf.exports.emplace_back("cudaMemcpyAsync");
  std::sort(made.elf.exports.begin(), made.elf.exports.end());
  ++made.elf.census.runtime;
  return made;
}

void check_all(std::string_view id, const std::vector<Situation>& situations) {
  for (const Situation& row : situations) {
    INFO(id << ": " << row.name);
    CHECK(severity_of(row.world.judge(), id) == row.severity);
  }
}

}  // namespace

TEST_CASE("RT04: a look-alike that a rule in use takes is critical") {
  check_all(
      "RT04",
      {{"nobody is known", shim_first(), "critical"},
       {"FlashInfer before the fix", shim_first().package("flashinfer-python", "0.6.14"),
        "critical"},
       {"SGLang before the fix", shim_first().package("sglang", "0.5.15"), "critical"},
       {"vLLM before the fix", shim_first().package("vllm", "0.25.1"), "critical"},
       {"FlashInfer with the fix", shim_first().package("flashinfer-python", "0.7.1"), "info"},
       {"SGLang with the fix", shim_first().package("sglang", "0.5.16"), "info"},
       {"vLLM with the fix", shim_first().package("vllm", "0.26.0"), "info"},
       {"FlashInfer with the fix and its PCIe collectives",
        shim_first().package("flashinfer-python", "0.7.4"), "info"},
       {"one with the fix, one without",
        shim_first().package("sglang", "0.5.20").package("flashinfer-python", "0.6.14"),
        "critical"},
       {"no consumer at all", shim_first().python(), "info"},
       {"a version that tells nothing", shim_first().package("flashinfer-python", "0.6.15.dev3"),
        "critical"},
       {"only the shim is there: SGLang falls back to it",
        World().library(kShim, shim()).package("sglang", "0.5.20"), "critical"}});
}

TEST_CASE("RT04 needs a look-alike, and a rule that ends at it") {
  check_all("RT04",
            {{"the runtime lies below the shim",
              World().library(kReal12, runtime12()).library(kShim, shim()), "absent"},
             {"the renamed shim",
              World()
                  .library("/t/lib/libstub_cudart.so", make_lookalike("libstub_cudart.so"))
                  .library(kReal12, runtime12()),
              "absent"},
             {"a shim that is only mapped as data",
              World().data(kShim, shim()).library(kReal12, runtime12()), "absent"},
             {"two genuine runtimes", two_runtimes(), "absent"},
             {"what it is could not be read",
              World().unread(kShim, "Permission denied").library(kReal12, runtime12()), "absent"},
             {"a runtime without a name that consumers do not bind",
              World().library(kReal12, make_genuine_runtime("libcudart.so.12", "12.4",
                                                            {"cudaGetDriverEntryPointByVersion"})),
              "absent"}});
}

TEST_CASE("RT04 names a present consumer, and words an unknown one as a condition") {
  const Report known = shim_first().package("flashinfer-python", "0.6.14").judge();
  const Finding* finding = find_finding(known, "RT04");
  REQUIRE(finding != nullptr);
  CHECK(finding->headline ==
        "FlashInfer 0.6.14 would take TileLang's stub libcudart_stub.so for the CUDA runtime.");
  CHECK(finding->consumer == "FlashInfer 0.6.14");
  CHECK(says(finding, "undefined symbol: cudaDeviceReset"));
  CHECK(says(finding, std::string(kReal12)));
  CHECK(says(finding, "FlashInfer 0.7.1 or later"));
  CHECK(says(finding, "VLLM_CUDART_SO_PATH: not read by FlashInfer"));
  CHECK_FALSE(says(finding, "SGLang"));
  CHECK_FALSE(says(finding, "vLLM 0.26.0"));

  const Report unknown = shim_first().judge();
  finding = find_finding(unknown, "RT04");
  REQUIRE(finding != nullptr);
  CHECK(
      finding->headline.starts_with("If vLLM before 0.26.0, SGLang before 0.5.16 or FlashInfer "
                                    "before 0.7.1 runs here, it would take "));

  const Report open = shim_first().package("flashinfer-python", "0.6.15.dev3").judge();
  finding = find_finding(open, "RT04");
  REQUIRE(finding != nullptr);
  CHECK(finding->headline.starts_with(
      "If FlashInfer 0.6.15.dev3, vintage not known, scans like FlashInfer before 0.7.1, it would "
      "take "));
}

TEST_CASE("a look-alike that binds without an error is said to do so, with no release that helps") {
  const Report report = World()
                            .library(kShim, silent_shim())
                            .library(kReal12, runtime12())
                            .package("flashinfer-python", "0.7.4")
                            .judge();
  const Finding* finding = find_finding(report, "RT04");
  REQUIRE(finding != nullptr);
  CHECK(finding->headline.starts_with("FlashInfer 0.7.4's PCIe collectives (b12x) would take"));
  CHECK(says(finding, "binds without an error"));
  CHECK_FALSE(says(finding, "or later (#"));
}

TEST_CASE("an upgrade is advised only where the newer rule works in this very process") {
  // Only the shim is mapped: the newer rules find nothing, or take it as well.
  const Report report = World().library(kShim, shim()).package("sglang", "0.5.15").judge();
  CHECK(severity_of(report, "RT04") == "critical");
  CHECK_FALSE(says(find_finding(report, "RT04"), "SGLang 0.5.16"));
}

TEST_CASE("RT07: the answer of a rule in use depends on the order of addresses") {
  check_all(
      "RT07",
      {{"shim first", shim_first(), "warning"},
       {"shim last", World().library(kReal12, runtime12()).library(kShim, shim()), "warning"},
       {"two runtimes", two_runtimes(), "warning"},
       {"two runtimes and a present consumer", two_runtimes().package("sglang", "0.5.20"),
        "warning"},
       {"the word in the directory of another library",
        World()
            .library("/opt/libcudart-12/lib/libcublas.so.12", make_plain("libcublas.so.12"))
            .library("/opt/libcudart-12/lib/libcudart.so.12", runtime12()),
        "warning"},
       {"one runtime", World().library(kReal12, runtime12()), "absent"},
       {"one runtime and a data mapping of it",
        World().library(kReal12, runtime12()).data("/x/other.txt", make_plain()), "absent"},
       {"no consumer in the process", two_runtimes().python(), "absent"},
       {"the rule that is here skips the shim", shim_first().package("sglang", "0.5.16"), "absent"},
       {"the renamed shim",
        World()
            .library("/t/lib/libstub_cudart.so", make_lookalike("libstub_cudart.so"))
            .library(kReal12, runtime12()),
        "absent"}});
}

TEST_CASE("RT07 advises a release only where its rule is stable here") {
  const Report shims = shim_first().package("vllm", "0.25.1").judge();
  CHECK(says(find_finding(shims, "RT07"), "vLLM 0.26.0 or later"));

  for (const std::string_view version : {"0.25.1", "0.28.0", "0.33.0"}) {
    INFO("vLLM " << version);
    const Report report = two_runtimes().package("vllm", version).judge();
    const Finding* finding = find_finding(report, "RT07");
    REQUIRE(finding != nullptr);
    CHECK(finding->headline.starts_with("vLLM " + std::string(version) + " may take another"));
    CHECK_FALSE(says(finding, "or later"));
    CHECK(says(finding, "Let the process load only one of "));
  }
}

TEST_CASE("RT07 names the override that does not help") {
  CHECK(says(find_finding(shim_first().package("vllm", "0.25.0").judge(), "RT07"),
             "VLLM_CUDART_SO_PATH: vLLM reads it only when its scan finds nothing"));
}

TEST_CASE("RT07 shows foreign bytes escaped") {
  const Report report = World()
                            .library("/a\033[2J/libcudart.so.12", runtime12())
                            .library(kReal12, runtime12())
                            .judge();
  const Finding* finding = find_finding(report, "RT07");
  REQUIRE(finding != nullptr);
  CHECK(all_words(*finding).find('\033') == std::string::npos);
}

TEST_CASE("RT08: a runtime is mapped, and a rule in use does not get at it") {
  const World deleted = World()
                            .library("/v/x.libs/libcudart.41118559.so.12 (deleted)",
                                     make_genuine_runtime("libcudart.41118559.so.12", "12.4"))
                            .file_is(FileState::deleted);
  World dotted = World().library("/v/x.libs/libcudart.41118559.so.12",
                                 make_genuine_runtime("libcudart.41118559.so.12", "12.4"));
  World memory = World().library("/memfd:libcudart.so.12 (deleted)", runtime12());
  memory.file_is(FileState::memory);
  check_all(
      "RT08",
      {{"its file is gone", deleted, "error"},
       {"from memory", memory, "error"},
       {"a dotted hash, and the anchored rule", World(dotted).package("flashinfer-python", "0.7.1"),
        "error"},
       {"a dotted hash, and the prefix rule", World(dotted).package("vllm", "0.28.0"), "absent"},
       {"a dashed hash",
        World().library("/v/x.libs/libcudart-d0da41ae.so.11.0",
                        make_genuine_runtime("libcudart-d0da41ae.so.11.0", "11.8")),
        "absent"},
       {"a public name", World().library(kReal12, runtime12()), "absent"},
       {"blanks in the path", World().library("/a b (x)/libcudart.so.12", runtime12()), "absent"},
       {"no runtime at all", World().library("/x/libm.so.6", make_plain("libm.so.6")), "absent"},
       {"no consumer in the process", World(deleted).python(), "absent"},
       {"the look-alike is taken instead: that is another finding", shim_first(), "absent"},
       {"the word in a directory, and the old scan",
        World()
            .library("/opt/libcudart-12/libcublas.so.12", make_plain("libcublas.so.12"))
            .library(kReal12, runtime12())
            .package("sglang", "0.5.15"),
        "error"},
       {"the word in a directory, and the new rule",
        World()
            .library("/opt/libcudart-12/libcublas.so.12", make_plain("libcublas.so.12"))
            .library(kReal12, runtime12())
            .package("sglang", "0.5.16"),
        "absent"}});
}

TEST_CASE("RT08 says why, and advises what helps in this process") {
  const World dotted = World().library("/v/x.libs/libcudart.41118559.so.12",
                                       make_genuine_runtime("libcudart.41118559.so.12", "12.4"));
  const Report flashinfer = World(dotted).package("flashinfer-python", "0.7.1").judge();
  CHECK(says(find_finding(flashinfer, "RT08"), "the file name is not libcudart[-hexadecimal]"));
  CHECK(says(find_finding(flashinfer, "RT08"), "libcudart is not loaded in the current process"));

  CHECK(says(find_finding(World()
                              .library("/v/libcudart.so.12 (deleted)", runtime12())
                              .file_is(FileState::deleted)
                              .package("vllm", "0.28.0")
                              .judge(),
                          "RT08"),
             "reinstall its package"));
}

TEST_CASE("loader rows never raise RT04, RT07 or RT08") {
  // dlopen of libcudart.so.13 finds nothing, and two runtimes share a soname; nobody scans here.
  const Report report = two_runtimes().package("torch", "2.11.0").judge();
  for (const std::string_view id : {"RT04", "RT07", "RT08"}) {
    INFO(id);
    CHECK(severity_of(report, id) == "absent");
  }
}

TEST_CASE("headlines fit two lines of 80 columns") {
  const std::vector<World> worlds = {
      shim_first(), two_runtimes(), shim_first().python(),
      World().library("/v/libcudart.so.12 (deleted)", runtime12()).file_is(FileState::deleted),
      World()
          .library("/opt/libcudart-12/libcublas.so.12", make_plain())
          .library(kReal12, runtime12())};
  for (const World& world : worlds) {
    for (const Finding& finding : world.judge().findings) {
      INFO(finding.id << ": " << finding.headline);
      CHECK(finding.headline.size() <= 160);
      CHECK(finding.headline.ends_with('.'));
      CHECK_FALSE(finding.fixes.empty());
      CHECK_FALSE(finding.effect.empty());
    }
  }
}
