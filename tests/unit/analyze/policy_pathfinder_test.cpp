// cuda-pathfinder in every vintage: what is loaded, wheels, Conda, the loader, the toolkit.
#include <string>
#include <string_view>

#include "cudart_doctor/analyze/policy.hpp"
#include "support/catch.hpp"
#include "support/snapshot_builder.hpp"
#include "support/synthetic_elf.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

namespace {

const std::string kSite = "/v/lib/python3.12/site-packages";
const std::string kWheel13 = kSite + "/nvidia/cu13/lib";
const std::string kWheel12 = kSite + "/nvidia/cuda_runtime/lib";
constexpr std::string_view kR12 = "/r/libcudart.so.12";
constexpr std::string_view kR13 = "/r/libcudart.so.13";

constexpr const char* kVintages[] = {"cuda-pathfinder", "cuda-pathfinder-1.5",
                                     "cuda-pathfinder-1.2", "cuda-pathfinder-1.0"};

Selection decide(SnapshotBuilder& builder, std::string_view id) {
  Snapshot snapshot = builder.build();
  snapshot.python.is_python = true;
  snapshot.python.site_directories = {kSite};
  snapshot.python.distributions = {{"cuda-pathfinder", "1.9.1", kSite},
                                   {"cupy-cuda12x", "14.2.0", kSite}};
  const Policy* policy = find_policy(id);
  REQUIRE(policy != nullptr);
  return policy->decide(*policy, {snapshot, {}});
}

ElfFacts runtime(std::string_view soname) { return make_genuine_runtime(soname, "12.8").elf; }

/// A file in a folder, listed there.
void put(SnapshotBuilder& builder, const std::string& folder, std::vector<std::string> names) {
  DiskEntry listed = directory();
  listed.names = names;
  builder.disk(folder, listed);
  for (const std::string& name : names) {
    builder.disk(folder + "/" + name, elf_file(100 + folder.size() + name.size(), runtime(name)));
  }
}

}  // namespace

TEST_CASE("what is loaded wins over every file, 13 first from 1.2 on, 12 first before") {
  SnapshotBuilder builder(MapsText().library(kR12, 12).library(kR13, 13));
  builder.empty_env().elf(kR12, runtime("libcudart.so.12")).elf(kR13, runtime("libcudart.so.13"));
  put(builder, kWheel13, {"libcudart.so.13"});
  for (const char* id : kVintages) {
    INFO(id);
    const Selection selection = decide(builder, id);
    const bool rising = std::string_view(id) == "cuda-pathfinder-1.0";
    CHECK(selection.chosen_text == (rising ? "libcudart.so.12" : "libcudart.so.13"));
    CHECK(selection.object == (rising ? std::size_t{0} : std::size_t{1}));
    CHECK(selection.works());
  }
}

TEST_CASE("a deleted runtime is found by its soname, a renamed one is not") {
  SnapshotBuilder builder(MapsText().library("/r/libcudart.so.12 (deleted)", 12));
  builder.empty_env().elf(kR12, runtime("libcudart.so.12")).state(kR12, FileState::deleted);
  SnapshotBuilder renamed(MapsText().library("/r/libcudart-d0da41ae.so.12", 12));
  renamed.empty_env().elf("/r/libcudart-d0da41ae.so.12", runtime("libcudart-d0da41ae.so.12"));
  for (const char* id : kVintages) {
    INFO(id);
    CHECK(decide(builder, id).object == std::size_t{0});
    const Selection none = decide(renamed, id);
    CHECK(none.outcome == Outcome::not_found);
    CHECK(none.error_type == "DynamicLibNotFoundError");
  }
}

TEST_CASE("the bare name counts only until 1.7") {
  SnapshotBuilder builder(MapsText().library("/r/libcudart.so", 12));
  builder.empty_env().elf("/r/libcudart.so", runtime("libcudart.so"));
  CHECK(decide(builder, "cuda-pathfinder").outcome == Outcome::not_found);
  CHECK(decide(builder, "cuda-pathfinder-1.5").object == std::size_t{0});
  CHECK(decide(builder, "cuda-pathfinder-1.2").object == std::size_t{0});
  CHECK(decide(builder, "cuda-pathfinder-1.0").object == std::size_t{0});
}

TEST_CASE("with nothing loaded: wheels, Conda, the loader, the toolkit, in that order") {
  SnapshotBuilder builder(MapsText{});
  builder.env("CONDA_PREFIX", "/conda").env("CUDA_PATH", "/c");
  const auto check = [&](const std::string& path) {
    for (const char* id : {"cuda-pathfinder", "cuda-pathfinder-1.5", "cuda-pathfinder-1.2"}) {
      INFO(id);
      CHECK(decide(builder, id).chosen_text == path);
      CHECK(decide(builder, id).open == OpenOutcome::loads);
    }
  };
  put(builder, "/c/lib64", {"libcudart.so.13"});
  check("/c/lib64/libcudart.so.13");
  builder.search("libcudart.so.12", "/usr/lib/libcudart.so.12");
  check("libcudart.so.12");
  put(builder, "/conda/lib", {"libcudart.so.12"});
  check("/conda/lib/libcudart.so.12");
  put(builder, kWheel12, {"libcudart.so.12"});
  check(kWheel12 + "/libcudart.so.12");
  put(builder, kWheel13, {"libcudart.so.13"});
  check(kWheel13 + "/libcudart.so.13");
}

TEST_CASE("of both toolkit variables CUDA_PATH counts from 1.5 on, CUDA_HOME before") {
  SnapshotBuilder builder(MapsText{});
  builder.env("CUDA_HOME", "/home").env("CUDA_PATH", "/path");
  put(builder, "/home/lib64", {"libcudart.so", "libcudart.so.12"});
  put(builder, "/path/lib64", {"libcudart.so", "libcudart.so.12"});
  CHECK(decide(builder, "cuda-pathfinder").chosen_text == "/path/lib64/libcudart.so.12");
  CHECK(decide(builder, "cuda-pathfinder-1.5").chosen_text == "/path/lib64/libcudart.so");
  CHECK(decide(builder, "cuda-pathfinder-1.2").chosen_text == "/home/lib64/libcudart.so");
  CHECK(decide(builder, "cuda-pathfinder-1.0").chosen_text == "/home/lib64/libcudart.so");
}

TEST_CASE("the first release tried cuda_runtime's folder first") {
  SnapshotBuilder builder(MapsText{});
  builder.empty_env();
  put(builder, kWheel12, {"libcudart.so.12"});
  put(builder, kWheel13, {"libcudart.so.13"});
  CHECK(decide(builder, "cuda-pathfinder-1.0").chosen_text == kWheel12 + "/libcudart.so.12");
}

TEST_CASE("a place that could not be looked into leaves the answer open") {
  SnapshotBuilder builder(MapsText{});
  builder.live().empty_cache().env("CUDA_PATH", "/c");
  put(builder, "/c/lib64", {"libcudart.so.13"});
  for (const char* id : kVintages) {
    INFO(id);
    const Selection selection = decide(builder, id);
    CHECK(selection.outcome == Outcome::undetermined);
    CHECK_FALSE(selection.possible.empty());
  }
}

TEST_CASE("pathfinder's steps name who calls it here") {
  SnapshotBuilder builder(MapsText{});
  builder.empty_env();
  CHECK(decide(builder, "cuda-pathfinder").steps.front().reason == "for cupy-cuda12x 14.2.0");
}
