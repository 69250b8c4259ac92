// Consumers that go through the loader: cuDNN's front end, TileLang's shim, PyTorch.
#include <algorithm>
#include <string>
#include <string_view>

#include "cudart_doctor/analyze/policy.hpp"
#include "cudart_doctor/analyze/tilelang_search.hpp"
#include "support/catch.hpp"
#include "support/snapshot_builder.hpp"
#include "support/synthetic_elf.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

namespace {

constexpr std::string_view kR12 = "/n/cuda_runtime/lib/libcudart.so.12";
constexpr std::string_view kShim = "/s/site-packages/tilelang/lib/libstub_cudart.so";

Selection decide(const Snapshot& snapshot, std::string_view id) {
  const Policy* policy = find_policy(id);
  REQUIRE(policy != nullptr);
  return policy->decide(*policy, {snapshot, {}});
}

ElfFacts runtime(std::string_view soname, std::string_view version) {
  return make_genuine_runtime(soname, version).elf;
}

ElfFacts shim_elf(std::string_view runpath = "$ORIGIN:$ORIGIN/../../nvidia/cu13/lib") {
  ElfFacts elf = make_lookalike("libstub_cudart.so", {"cudaDeviceReset"}).elf;
  elf.runpath = std::string(runpath);
  return elf;
}

}  // namespace

TEST_CASE("cuDNN's front end: what is merely installed counts") {
  SnapshotBuilder builder(MapsText().library(kR12, 12));
  builder.elf(kR12, runtime("libcudart.so.12", "12.8")).empty_env();
  CHECK(decide(builder.build(), "cudnn-fe").chosen_text == "libcudart.so.12");
  CHECK(decide(builder.build(), "cudnn-fe").object == std::size_t{0});
  builder.search("libcudart.so.13", "/usr/lib/libcudart.so.13");
  CHECK(decide(builder.build(), "cudnn-fe").outcome == Outcome::multiple);
  const Selection newer = decide(builder.build(), "cudnn-frontend-2026-06");
  CHECK(newer.outcome == Outcome::selected);
  CHECK(newer.chosen_text == "libcudart.so.12");
  CHECK(newer.works());
}

TEST_CASE("cuDNN's front end without any runtime") {
  const Snapshot snapshot = SnapshotBuilder(MapsText()).empty_env().build();
  for (const char* id : {"cudnn-frontend", "cudnn-frontend-2026-06"}) {
    INFO(id);
    CHECK(decide(snapshot, id).outcome == Outcome::not_found);
    CHECK(decide(snapshot, id).error_text == "Unable to load any libcudart.so.* library.");
  }
}

TEST_CASE("CUDNN_FRONTEND_CUDART_LIB_NAME is opened alone, from 1.25 on") {
  SnapshotBuilder builder(MapsText().library(kR12, 12));
  builder.elf(kR12, runtime("libcudart.so.12", "12.8"))
      .env("CUDNN_FRONTEND_CUDART_LIB_NAME", "libcudart.so.13");
  const Selection missing = decide(builder.build(), "cudnn-frontend-2026-06");
  CHECK(missing.outcome == Outcome::not_found);
  CHECK(missing.error_text ==
        "Unable to load libcudart library specified by CUDNN_FRONTEND_CUDART_LIB_NAME "
        "(libcudart.so.13): libcudart.so.13: cannot open shared object file: No such file or "
        "directory");
  CHECK(decide(builder.build(), "cudnn-frontend").chosen_text == "libcudart.so.12");

  SnapshotBuilder empty(MapsText().library(kR12, 12));
  empty.elf(kR12, runtime("libcudart.so.12", "12.8")).env("CUDNN_FRONTEND_CUDART_LIB_NAME", "");
  CHECK(decide(empty.build(), "cudnn-frontend-2026-06").chosen_text == "libcudart.so.12");
}

TEST_CASE("cuDNN's front end stays open where one major is not known") {
  SnapshotBuilder builder(MapsText().library(kR12, 12));
  builder.live().elf(kR12, runtime("libcudart.so.12", "12.8"));
  CHECK(decide(builder.build(), "cudnn-frontend").outcome == Outcome::undetermined);
  CHECK(decide(builder.build(), "cudnn-frontend-2026-06").chosen_text == "libcudart.so.12");
}

TEST_CASE("TileLang's rules do not apply without its shim") {
  const Snapshot snapshot = SnapshotBuilder(MapsText().library(kR12, 12)).build();
  for (const char* id : {"tilelang-stub", "tilelang-stub-0.1.9", "tilelang-stub-0.1.8"}) {
    CHECK(decide(snapshot, id).outcome == Outcome::not_applicable);
  }
}

TEST_CASE("the shim takes the highest version among the loaded names") {
  SnapshotBuilder builder(MapsText()
                              .library("/a/libcudart.so.11.0", 1)
                              .library("/b/libcudart.so.12.8.90", 2)
                              .library("/c/LIBCUDART.so.12", 3)
                              .library("/d/libcudart-d0da41ae.so.13", 4)
                              .library(kShim, 5));
  builder.elf("/a/libcudart.so.11.0", runtime("libcudart.so.11.0", "11.8"))
      .elf("/b/libcudart.so.12.8.90", runtime("libcudart.so.12", "12.8"))
      .elf("/c/LIBCUDART.so.12", runtime("x", "12.4"))
      .elf("/d/libcudart-d0da41ae.so.13", runtime("libcudart-d0da41ae.so.13", "13.0"))
      .elf(kShim, shim_elf());
  const Selection selection = decide(builder.build(), "tilelang-shim");
  CHECK(selection.object == std::size_t{1});
  CHECK(selection.works());
}

TEST_CASE("the shim finds a deleted runtime by its link map name, not a renamed one") {
  SnapshotBuilder builder(MapsText().library("/n/rt (deleted)", 2).library(kShim, 5));
  builder.elf("/n/rt", runtime("libcudart.so.12", "12.8"))
      .elf(kShim, shim_elf())
      .state("/n/rt", FileState::deleted)
      .link(kShim, kShim)
      .link("/link/libcudart.so.12", "/n/rt");
  const Selection selection = decide(builder.build(), "tilelang-stub");
  CHECK(selection.object == std::size_t{0});
  CHECK(selection.chosen_text == "/link/libcudart.so.12");
}

TEST_CASE("a name that sorts higher but does not define the probe name is passed over") {
  SnapshotBuilder builder(
      MapsText().library("/a/libcudart.so.99", 1).library(kR12, 2).library(kShim, 5));
  builder.elf("/a/libcudart.so.99", make_plain("libcudart.so.99").elf)
      .elf(kR12, runtime("libcudart.so.12", "12.8"))
      .elf(kShim, shim_elf());
  CHECK(decide(builder.build(), "tilelang-stub").object == std::size_t{1});
}

TEST_CASE("with only a hash-renamed runtime the shim aborts") {
  SnapshotBuilder builder(MapsText().library("/d/libcudart-d0da41ae.so.12", 4).library(kShim, 5));
  builder.elf("/d/libcudart-d0da41ae.so.12", runtime("libcudart-d0da41ae.so.12", "12.8"))
      .elf(kShim, shim_elf());
  const Selection selection = decide(builder.build(), "tilelang-stub");
  CHECK(selection.outcome == Outcome::aborts);
  CHECK(selection.error_text ==
        "TileLang Error: cudart symbols not found. Make sure PyTorch with CUDA is installed before "
        "using TileLang.");
  CHECK(decide(builder.build(), "tilelang-stub-0.1.9").outcome == Outcome::aborts);
  CHECK(decide(builder.build(), "tilelang-stub-0.1.8").outcome == Outcome::aborts);
}

TEST_CASE("the shim then opens the soname of its build's major, then the bare name") {
  SnapshotBuilder builder(MapsText().library(kShim, 5));
  builder.elf(kShim, shim_elf("$ORIGIN/../../nvidia/cu12/lib"))
      .search("libcudart.so", "/usr/lib/libcudart.so")
      .search("libcudart.so.13", "/usr/lib/libcudart.so.13");
  CHECK(decide(builder.build(), "tilelang-stub").chosen_text == "libcudart.so");
  builder.search("libcudart.so.12", "/usr/lib/libcudart.so.12");
  CHECK(decide(builder.build(), "tilelang-stub").chosen_text == "libcudart.so.12");
  CHECK(decide(builder.build(), "tilelang-stub").open == OpenOutcome::loads);
}

TEST_CASE("0.1.9 ignores what is loaded local and takes the bare name first") {
  SnapshotBuilder builder(MapsText().library(kR12, 2).library(kShim, 5));
  builder.elf(kR12, runtime("libcudart.so.12", "12.4"))
      .elf(kShim, shim_elf())
      .search("libcudart.so", "/usr/local/cuda/lib64/libcudart.so");
  const Selection selection = decide(builder.build(), "tilelang-stub-0.1.9");
  CHECK(selection.disk_path == std::string("/usr/local/cuda/lib64/libcudart.so"));
  CHECK(selection.open == OpenOutcome::loads);
}

TEST_CASE("the shim's last resort is a search on disk, sorted over all folders") {
  const auto folder = [](std::vector<std::string> names) {
    DiskEntry entry = directory();
    entry.names = std::move(names);
    return entry;
  };
  SnapshotBuilder builder(MapsText().library(kShim, 5));
  builder.elf(kShim, shim_elf())
      .env("CUDA_HOME", "/c")
      .disk("/s/site-packages/nvidia/cuda_runtime/lib", folder({"libcudart.so.12"}))
      .disk("/c/lib64", folder({"libcudart.so", "libcudart.so.12.4.127"}))
      .disk("/s/site-packages/nvidia/cuda_runtime/lib/libcudart.so.12",
            elf_file(30, runtime("libcudart.so.12", "12.8")))
      .disk("/c/lib64/libcudart.so", elf_file(31, runtime("libcudart.so.12", "12.4")))
      .disk("/c/lib64/libcudart.so.12.4.127", elf_file(31, runtime("libcudart.so.12", "12.4")));
  const Selection selection = decide(builder.build(), "tilelang-stub");
  CHECK(selection.outcome == Outcome::selected);
  CHECK(selection.chosen_text == "/c/lib64/libcudart.so.12.4.127");
}

TEST_CASE("version keys: four groups, ten thousand each") {
  CHECK(tilelang_version_key("/x/libcudart.so") == 0);
  CHECK(tilelang_version_key("/x/libcudart.so.12") == 12000000000000ULL);
  CHECK(tilelang_version_key("/x/libcudart.so.11.8.89") == 11000800890000ULL);
  CHECK(tilelang_prefers("/a/libcudart.so.13", "/z/libcudart.so.12.9.99"));
  CHECK(tilelang_prefers("/b/libcudart.so.12", "/a/libcudart.so.12"));
}

TEST_CASE("a runtime that lacks one of the shim's names turns every call into an error") {
  SnapshotBuilder builder(MapsText().library(kR12, 2).library(kShim, 5));
  builder.elf(kR12, make_genuine_runtime("libcudart.so.12", "12.8", {"cudaMemcpyPeerAsync"}).elf)
      .elf(kShim, shim_elf());
  const Selection selection = decide(builder.build(), "tilelang-stub");
  CHECK(selection.missing == std::vector<std::string>{"cudaMemcpyPeerAsync"});
  CHECK(selection.error_text == "cudaErrorUnknown (CUDA runtime stub: libcudart not found)");
}

TEST_CASE("PyTorch: the soname that its mapped library needs") {
  ElfFacts torch = make_plain("libtorch_cuda.so").elf;
  torch.needed = {"libc10_cuda.so", "libcudart-d0da41ae.so.11.0"};
  SnapshotBuilder builder(MapsText()
                              .library("/t/lib/libcudart-d0da41ae.so.11.0", 1)
                              .library(kR12, 2)
                              .library("/t/lib/libtorch_cuda.so", 3));
  builder.elf("/t/lib/libcudart-d0da41ae.so.11.0", runtime("libcudart-d0da41ae.so.11.0", "11.8"))
      .elf(kR12, runtime("libcudart.so.12", "12.8"))
      .elf("/t/lib/libtorch_cuda.so", torch);
  const Selection selection = decide(builder.build(), "torch-elf");
  CHECK(selection.chosen_text == "libcudart-d0da41ae.so.11.0");
  CHECK(selection.object == std::size_t{0});
  const Snapshot without = SnapshotBuilder(MapsText().library(kR12, 2)).build();
  CHECK(decide(without, "torch-elf").outcome == Outcome::not_applicable);
}
