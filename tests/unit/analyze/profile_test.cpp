// Lists of names of the user's own: their files, their rows, their finding.
#include "cudart_doctor/analyze/profile.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "judge_world.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

namespace {

Profile profile(std::vector<std::string> names, std::string policy = {}) {
  return {"mine", "My library", std::move(policy), std::move(names)};
}

Report judged(World& world, Profile wanted) {
  JudgeOptions options;
  options.profiles = {std::move(wanted)};
  return make_report(world.snapshot(), options);
}

const Selection& row(const Report& report) {
  return *std::find_if(report.selections.begin(), report.selections.end(), is_profile_row);
}

const Finding* not_met(const Report& report) {
  const auto found = std::find_if(report.findings.begin(), report.findings.end(),
                                  [](const Finding& each) { return each.id == "SY06"; });
  return found == report.findings.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("a profile file: id and names are enough") {
  const auto read = parse_profile(R"({"id": "a-1", "names": ["cudaMalloc", "cuInit"]})");
  REQUIRE(read);
  CHECK(read->id == "a-1");
  CHECK(read->title == "a-1");
  CHECK(read->policy.empty());
  CHECK(read->names == std::vector<std::string>{"cudaMalloc", "cuInit"});
}

TEST_CASE("a policy's other name is put as its id") {
  const auto read = parse_profile(R"({"id": "a", "policy": "scan-basename", "names": ["x"]})");
  REQUIRE(read);
  CHECK(read->policy == "flashinfer-2026-09");
}

TEST_CASE("what is no profile is refused, and the message names the key") {
  const std::pair<std::string, std::string_view> rows[] = {
      {"", "no valid JSON"},
      {"{\"id\": \"a\"", "no valid JSON"},
      {"[]", "no JSON object"},
      {R"({"names": ["x"]})", "\"id\""},
      {R"({"id": "", "names": ["x"]})", "\"id\""},
      {R"({"id": "A b", "names": ["x"]})", "\"id\""},
      {R"({"id": 7, "names": ["x"]})", "\"id\""},
      {R"({"id": ")" + std::string(65, 'a') + R"(", "names": ["x"]})", "\"id\""},
      {R"({"id": "a"})", "\"names\""},
      {R"({"id": "a", "names": []})", "\"names\""},
      {R"({"id": "a", "names": {}})", "\"names\""},
      {R"({"id": "a", "names": ["x", 1]})", "entry 2"},
      {R"({"id": "a", "names": ["1x"]})", "entry 1"},
      {R"({"id": "a", "names": ["x y"]})", "entry 1"},
      {R"({"id": "a", "names": ["x", "x"]})", "named twice"},
      {R"({"id": "a", "title": "", "names": ["x"]})", "\"title\""},
      {R"({"id": "a", "title": "a\nb", "names": ["x"]})", "\"title\""},
      {R"({"id": "a", "title": ")" + std::string(25, 'a') + R"(", "names": ["x"]})", "\"title\""},
      {R"({"id": "a", "policy": "no-such", "names": ["x"]})", "unknown policy 'no-such'"},
      {R"({"id": "a", "policy": "", "names": ["x"]})", "unknown policy ''"},
      {R"({"id": "a", "names": ["x"], "nmaes": []})", "unknown key \"nmaes\""},
      {R"({"id": "a", "title": 7, "names": ["x"]})", "\"title\" is no text"},
      {R"({"id": "a", "title": "a~\u007f", "names": ["x"]})", "\"title\""},
      {R"({"id": "a", "policy": [], "names": ["x"]})", "\"policy\" is no text"},
      {R"({"id": "a", "names": [""]})", "entry 1"},
      {R"({"id": "a", "names": [")" + std::string(256, 'x') + R"("]})", "entry 1"},
      {R"({"id": "a", "names": ["x{"]})", "entry 1"},
      {R"({"id": "a", "names": ["x["]})", "entry 1"},
      {R"({"id": "a{", "names": ["x"]})", "\"id\""},
  };
  for (const auto& [text, message] : rows) {
    INFO(text);
    const auto read = parse_profile(text);
    REQUIRE_FALSE(read);
    CHECK(read.error().kind == ErrorKind::usage);
    CHECK(read.error().message.find(message) != std::string::npos);
  }
}

TEST_CASE("more names than allowed are refused") {
  std::string text = R"({"id": "a", "names": ["n0")";
  for (std::size_t i = 1; i <= kMaxProfileNames; ++i) text += ",\"n" + std::to_string(i) + '"';
  const auto read = parse_profile(text + "]}");
  REQUIRE_FALSE(read);
  CHECK(read.error().message.find("at most 4096") != std::string::npos);
}

TEST_CASE("a deep nest is refused and not followed") {
  CHECK_FALSE(parse_profile(std::string(1U << 20U, '[')));
}

TEST_CASE("a profile that is met: a row that works, no finding") {
  World world;
  world.library(kReal12, runtime12()).python();
  const Report report = judged(world, profile({"cudaMalloc", "cudaIpcGetMemHandle"}));
  CHECK(row(report).policy == "profile:mine");
  CHECK(row(report).works());
  CHECK(row(report).bound == 2);
  CHECK(row(report).vintage == "follows " + report.headline_policy);
  CHECK(not_met(report) == nullptr);
  CHECK(report.verdict.exit_code == 0);
}

TEST_CASE("SY06: a name that the taken runtime lacks is an error") {
  World world;
  world.library(kReal12, make_genuine_runtime("libcudart.so.12", "12.4", {"cudaMemcpyBatchAsync"}))
      .python();
  const Report report = judged(world, profile({"cudaMalloc", "cudaMemcpyBatchAsync"}));
  CHECK(row(report).missing == std::vector<std::string>{"cudaMemcpyBatchAsync"});
  const Finding* finding = not_met(report);
  REQUIRE(finding != nullptr);
  CHECK(finding->severity == Severity::error);
  CHECK(
      finding->headline ==
      R"(Profile "My library": libcudart.so.12, which its rule takes, lacks cudaMemcpyBatchAsync.)");
  CHECK(report.verdict.exit_code == 1);
}

TEST_CASE("SY06: a profile follows the rule that it names, not the headline's") {
  World world;
  world.library(kShim, shim()).library(kReal12, runtime12()).python();
  const Report legacy = judged(world, profile({"cudaDeviceReset"}, "sglang-legacy"));
  CHECK(not_met(legacy) != nullptr);
  const Report present = judged(world, profile({"cudaDeviceReset"}, "sglang-2026-07"));
  CHECK(not_met(present) == nullptr);
}

TEST_CASE("SY06: where the rule takes nothing the profile is not met") {
  World world;
  world.python();
  const Report report = judged(world, profile({"cudaMalloc"}, "sglang-2026-07"));
  REQUIRE(not_met(report) != nullptr);
  CHECK(not_met(report)->headline == R"(Profile "My library": its rule takes no runtime.)");
  CHECK(not_met(report)->policy == "profile:mine");
  CHECK(says(not_met(report), "cudart-doctor policies sglang-2026-07"));
}

TEST_CASE("a name outside the CUDA families is unknown, not missing") {
  World world;
  world.library(kReal12, runtime12()).python();
  const Report report = judged(world, profile({"cudaMalloc", "ncclAllReduce"}));
  CHECK(row(report).missing.empty());
  CHECK_FALSE(row(report).missing_known);
  CHECK(not_met(report) == nullptr);
  CHECK(report.verdict.exit_code == 3);
  CHECK(report.verdict.undecided ==
        "whether the runtime has the names of profile \"My library\" is not known: only names of "
        "CUDA's own interfaces are recorded, not ncclAllReduce; take what is not CUDA's out of the "
        "profile");
  CHECK(row(report).unrecorded == std::vector<std::string>{"ncclAllReduce"});
}

TEST_CASE("of each family of CUDA's a name that is not there is missing, of others unknown") {
  World world;
  world.library(kReal12, runtime12()).python();
  for (const std::string name :
       {"__cudaNoSuch", "cudaNoSuch", "cuNoSuch", "nvrtcNoSuch", "nvmlNoSuch", "hipNoSuch"}) {
    INFO(name);
    const Report report = judged(world, profile({name}));
    CHECK(row(report).missing == std::vector<std::string>{name});
    CHECK(row(report).unrecorded.empty());
  }
  for (const std::string name : {"cuda", "cudafoo", "curand", "_cudaFoo", "hip"}) {
    INFO(name);
    const Report report = judged(world, profile({name}));
    CHECK(row(report).unrecorded == std::vector<std::string>{name});
    CHECK(row(report).missing.empty());
  }
}

TEST_CASE("a profile of a rule that has nothing to do here is not decided") {
  World world;
  world.library(kReal12, runtime12()).python();
  const Report report = judged(world, profile({"cudaMalloc"}, "tilelang-stub"));
  CHECK(not_met(report) == nullptr);
  CHECK(report.verdict.exit_code == 3);
}

TEST_CASE("profiles add rows and change neither the headline nor other findings") {
  World world;
  world.library(kShim, shim()).library(kReal12, runtime12()).package("sglang", "0.5.9");
  const Report without = make_report(world.snapshot(), {});
  const Report with = judged(world, profile({"cudaMalloc"}, "sglang-2026-07"));
  CHECK(with.headline_policy == without.headline_policy);
  CHECK(with.selections.size() == without.selections.size() + 1);
  CHECK(with.findings.size() == without.findings.size());
}
