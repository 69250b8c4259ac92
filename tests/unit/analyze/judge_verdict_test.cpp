// The verdict: exit code, what leaves it open, which rule leads, and the order of the findings.
#include <algorithm>
#include <array>
#include <tuple>

#include "judge_world.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

namespace {

World healthy() { return World().library(kReal12, runtime12()); }
World shim_first() { return World().library(kShim, shim()).library(kReal12, runtime12()); }
World two_runtimes() { return World().library(kReal12, runtime12()).library(kReal13, runtime13()); }

Verdict verdict_of(const World& world, Severity fail_on = Severity::error) {
  return world.judge({.fail_on = fail_on, .policy = {}}).verdict;
}

/// The driver's findings lead their severity, those without a consumer close it.
auto order_of(const Finding& finding) {
  int urgency = 1;
  if (finding.id.starts_with("DR")) urgency = 0;
  if (urgency == 1 && finding.consumer.empty()) urgency = 2;
  return std::tuple(3 - static_cast<int>(finding.severity), urgency, finding.id, finding.headline);
}

}  // namespace

TEST_CASE("the exit code follows the gravest finding and --fail-on") {
  struct Row {
    World world;
    Severity fail_on;
    int code;
  };
  const Row rows[] = {{healthy(), Severity::info, 0},
                      {shim_first(), Severity::critical, 1},
                      {shim_first(), Severity::error, 1},
                      {two_runtimes(), Severity::error, 0},
                      {two_runtimes(), Severity::warning, 1},
                      {World().library("/x/libm.so.6", make_plain()), Severity::info, 1},
                      {World().library("/x/libm.so.6", make_plain()), Severity::warning, 0}};
  for (const Row& row : rows) {
    INFO(static_cast<int>(row.fail_on));
    CHECK(verdict_of(row.world, row.fail_on).exit_code == row.code);
  }
}

TEST_CASE("what could not be read leaves the verdict open") {
  CHECK(verdict_of(healthy()).undecided.empty());
  CHECK(verdict_of(healthy().unread("/x/libfoo.so", "Permission denied")).exit_code == 3);
  CHECK(verdict_of(World().unread(kReal12, "Permission denied")).exit_code == 3);
  CHECK(verdict_of(healthy().unread("/dev/shm/jit", "not an ELF file")).exit_code == 0);

  Snapshot listed = healthy().snapshot();
  listed.capture.unread = {"/x/libfoo.so: Permission denied"};
  CHECK(make_report(std::move(listed), {}).verdict.exit_code == 3);

  Snapshot moving = healthy().snapshot();
  moving.capture.maps_consistent = false;
  CHECK(make_report(std::move(moving), {}).verdict.exit_code == 3);
}

TEST_CASE("a loaded object of unknown kind leaves the verdict open, one on disk does not") {
  SyntheticElf odd = runtime12();
  odd.content.constants.clear();
  odd.content.yardstick.resize(2);
  CHECK(verdict_of(World().library(kReal12, odd)).exit_code == 3);
  CHECK(verdict_of(healthy().on_disk(kOther12, odd)).exit_code == 0);
}

TEST_CASE("a finding at the threshold beats what is open, a lesser one does not") {
  const World open = shim_first().unread("/x/libfoo.so", "Permission denied");
  CHECK(verdict_of(open).exit_code == 1);
  CHECK_FALSE(verdict_of(open).undecided.empty());
  CHECK(verdict_of(two_runtimes().unread("/x/libfoo.so", "Permission denied")).exit_code == 3);
}

TEST_CASE("without a mapping there is a finding, and nothing is decided") {
  const Report report = make_report(Snapshot{}, {});
  CHECK(severity_of(report, "MP08") == "error");
  CHECK(report.verdict.exit_code == 1);
  CHECK(report.verdict.undecided == "no mapping could be read");
  CHECK(make_report(Snapshot{}, {.fail_on = Severity::critical, .policy = {}}).verdict.exit_code ==
        3);
}

TEST_CASE("the headline follows the consumer that is there") {
  struct Row {
    std::string_view name;
    World world;
    std::string_view policy;
  };
  const Row rows[] = {
      {"nobody known", shim_first(), "sglang-2026-07"},
      {"nobody there", shim_first().python(), "sglang-2026-07"},
      {"vLLM", healthy().package("vllm", "0.33.0"), "vllm-2026-10"},
      {"FlashInfer", healthy().package("flashinfer-python", "0.6.14"), "flashinfer-legacy-rt10"},
      {"the failing one of two",
       shim_first().package("sglang", "0.5.20").package("flashinfer-python", "0.6.14"),
       "flashinfer-legacy-rt10"},
      {"the first of two that work",
       healthy().package("sglang", "0.5.20").package("flashinfer-python", "0.6.14"),
       "sglang-2026-07"},
      {"a vintage that is not known", healthy().package("vllm", "0.99.0.dev1"), "vllm-2026-10"}};
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(row.world.judge().headline_policy == row.policy);
  }
}

TEST_CASE("the assumed rule is named as an assumption, the asked one as asked for") {
  CHECK(healthy().judge().headline_note == "assumed: no consumer was found");
  const Report asked =
      healthy().package("vllm", "0.33.0").judge({.fail_on = {}, .policy = "vllm-legacy"});
  CHECK(asked.headline_policy == "vllm-legacy");
  CHECK(asked.headline_note == "asked for with --policy");
}

TEST_CASE("findings stand in a total order: gravity, urgency, id, words") {
  // Two broken files and two look-alikes give several findings of one id.
  World many = World()
                   .library("/b/libcudart_mock.so", make_plain())
                   .library("/a/libcudart_stub.so", shim())
                   .library(kReal12, runtime12())
                   .library(kReal13, runtime13());
  const Report report = many.judge();
  REQUIRE(report.findings.size() > 4);
  for (std::size_t i = 1; i < report.findings.size(); ++i) {
    INFO(report.findings[i - 1].headline << " | " << report.findings[i].headline);
    CHECK(order_of(report.findings[i - 1]) < order_of(report.findings[i]));
  }
  CHECK(report.verdict.worst == report.findings.front().severity);
}

TEST_CASE("of equal gravity the driver leads, then what names a consumer") {
  const auto leader = [](const Report& report) { return report.findings.front().id; };
  CHECK(leader(shim_first()
                   .library("/usr/local/cuda/lib64/stubs/libcuda.so", make_driver_stub(65536))
                   .judge()) == "DR01");
  const Report warnings = World()
                              .library(kReal12, runtime12())
                              .library(kShim, shim())
                              .package("flashinfer-python", "0.6.14")
                              .package("torch", "2.11.0")
                              .env("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")
                              .judge();
  CHECK(severity_of(warnings, "IP01") == "warning");
  CHECK(severity_of(warnings, "RT03") == "warning");
  CHECK(leader(warnings) == "RT07");
}

TEST_CASE("the same snapshot gives the same report") {
  const Report a = shim_first().judge();
  const Report b = shim_first().judge();
  REQUIRE(a.findings.size() == b.findings.size());
  for (std::size_t i = 0; i < a.findings.size(); ++i) {
    CHECK(all_words(a.findings[i]) == all_words(b.findings[i]));
  }
}
