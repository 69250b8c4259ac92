// What follows a scan: opening the chosen text, binding the names, vLLM's fallback, stability.
#include <algorithm>
#include <string>
#include <string_view>

#include "cudart_doctor/analyze/names.hpp"
#include "cudart_doctor/analyze/open_path.hpp"
#include "cudart_doctor/analyze/policy.hpp"
#include "support/catch.hpp"
#include "support/snapshot_builder.hpp"
#include "support/synthetic_elf.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

namespace {

constexpr std::string_view kReal = "/n/cuda_runtime/lib/libcudart.so.12";
constexpr std::string_view kStub = "/t/tilelang/lib/libcudart_stub.so";

Selection decide(const Snapshot& snapshot, std::string_view id) {
  const Policy* policy = find_policy(id);
  REQUIRE(policy != nullptr);
  return policy->decide(*policy, {snapshot, {}});
}

bool has_step(const Selection& selection, std::string_view subject, StepVerdict verdict) {
  return std::any_of(selection.steps.begin(), selection.steps.end(), [&](const Step& step) {
    return step.subject == subject && step.verdict == verdict;
  });
}

ElfFacts runtime12() { return make_genuine_runtime("libcudart.so.12", "12.8").elf; }

ElfFacts stub() { return make_lookalike("libcudart_stub.so", {"cudaDeviceReset"}).elf; }

}  // namespace

TEST_CASE("opening a path taken from maps: the loader's name and the file of today decide") {
  struct Row {
    std::string_view loaded_as;
    FileState state;
    std::string_view text;
    OpenOutcome want;
  };
  const std::string same(kReal);
  const std::string marked = same + " (deleted)";
  const std::string dotted = "/n/torch/lib/../../cuda_runtime/lib/libcudart.so.12";
  const Row rows[] = {
      {same, FileState::same, same, OpenOutcome::old_object},
      {same, FileState::deleted, same, OpenOutcome::old_object},
      {same, FileState::deleted, marked, OpenOutcome::fails},
      {same, FileState::replaced, same, OpenOutcome::old_object},
      {same, FileState::replaced, marked, OpenOutcome::fails},
      {dotted, FileState::same, same, OpenOutcome::old_object},
      {dotted, FileState::deleted, same, OpenOutcome::fails},
      {dotted, FileState::deleted, marked, OpenOutcome::fails},
      {dotted, FileState::replaced, same, OpenOutcome::new_object},
      {dotted, FileState::replaced, marked, OpenOutcome::fails},
  };
  for (const Row& row : rows) {
    INFO("loaded as " << row.loaded_as << ", state " << static_cast<int>(row.state) << ", opened "
                      << row.text);
    const bool gone = row.state != FileState::same;
    const Snapshot snapshot =
        SnapshotBuilder(MapsText().library(gone ? marked : same, 12))
            .live()
            .elf(kReal, runtime12())
            .state(kReal, row.state, row.state == FileState::replaced ? key(77) : FileKey{})
            .link(row.loaded_as, kReal)
            .build();
    const OpenResult opened = open_path(snapshot, row.text);
    CHECK(opened.open == row.want);
    CHECK(opened.error_text.empty() == (row.want != OpenOutcome::fails));
    if (row.want == OpenOutcome::old_object) CHECK(opened.object == std::size_t{0});
    if (row.want == OpenOutcome::new_object) CHECK(opened.disk_path == same);
  }
}

TEST_CASE("without a link map the fate of a cut deleted path is not known") {
  SnapshotBuilder builder(MapsText().library(std::string(kReal) + " (deleted)", 12));
  builder.live().elf(kReal, runtime12()).state(kReal, FileState::replaced, key(77));
  const OpenResult cut = open_path(builder.build(), kReal);
  CHECK(cut.open == OpenOutcome::unknown);
  CHECK_THAT(cut.note, ContainsSubstring("link map"));
  CHECK(open_path(builder.build(), std::string(kReal) + " (deleted)").open == OpenOutcome::fails);
}

TEST_CASE("without a link map a file of the same inode is the loaded object") {
  const Snapshot snapshot = SnapshotBuilder(MapsText().library(kReal, 12))
                                .live()
                                .elf(kReal, runtime12())
                                .state(kReal, FileState::same)
                                .build();
  CHECK(open_path(snapshot, kReal).open == OpenOutcome::old_object);
}

TEST_CASE("a path that could not be examined is neither there nor gone") {
  const Snapshot snapshot = SnapshotBuilder(MapsText().library("/r/other.so", 3)).live().build();
  CHECK(open_path(snapshot, "/opt/libcudart.so.12").open == OpenOutcome::unknown);
}

TEST_CASE("an object of another loader namespace is mapped a second time") {
  const Snapshot snapshot = SnapshotBuilder(MapsText().library(kReal, 12).library("/bin/app", 1))
                                .live()
                                .elf(kReal, runtime12())
                                .state(kReal, FileState::same)
                                .link("", "/bin/app")
                                .build();
  CHECK(open_path(snapshot, kReal).open == OpenOutcome::new_object);
}

TEST_CASE("a name whose real file ends in the deleted mark is opened") {
  const std::string odd = "/r/libcudart.so.12 (deleted)";
  const Snapshot snapshot = SnapshotBuilder(MapsText().library(odd, 12))
                                .live()
                                .disk(odd, elf_file(12, runtime12()))
                                .build();
  CHECK(open_path(snapshot, odd).open == OpenOutcome::old_object);
}

TEST_CASE("the stub below the runtime: bound first, and the missing name is the error") {
  const Snapshot snapshot = SnapshotBuilder(MapsText().library(kStub, 10).library(kReal, 12))
                                .elf(kStub, stub())
                                .elf(kReal, runtime12())
                                .build();
  const Selection legacy = decide(snapshot, "scan-substring");
  CHECK(legacy.object == std::size_t{0});
  CHECK(legacy.open == OpenOutcome::old_object);
  CHECK(legacy.missing == std::vector<std::string>{"cudaDeviceReset"});
  CHECK(legacy.missing_known);
  CHECK(legacy.error_type == "AttributeError");
  CHECK(legacy.error_text == std::string(kStub) + ": undefined symbol: cudaDeviceReset");
  CHECK_FALSE(legacy.works());
  CHECK(legacy.stability == Stability::order_dependent);
  CHECK(legacy.other_answers == std::vector<std::string>{std::string(kReal)});

  const Selection fixed = decide(snapshot, "sglang-2026-07");
  CHECK(fixed.object == std::size_t{1});
  CHECK(fixed.works());
  CHECK(fixed.stability == Stability::stable);
  CHECK(has_step(fixed, kStub, StepVerdict::rejected));
  CHECK(has_step(fixed, kReal, StepVerdict::taken));
}

TEST_CASE("missing names are listed in bind order") {
  const std::vector<std::string> gone = {"cudaMalloc", "cudaIpcGetMemHandle", "cudaDeviceReset",
                                         "cudaIpcCloseMemHandle", "cudaHostUnregister"};
  const Snapshot snapshot =
      SnapshotBuilder(MapsText().library(kReal, 12))
          .elf(kReal, make_genuine_runtime("libcudart.so.12", "12.8", gone).elf)
          .build();
  using Names = std::vector<std::string>;
  CHECK(decide(snapshot, "sglang-2026-07").missing ==
        Names{"cudaDeviceReset", "cudaMalloc", "cudaIpcGetMemHandle"});
  CHECK(decide(snapshot, "flashinfer-2026-09").missing ==
        Names{"cudaDeviceReset", "cudaMalloc", "cudaIpcGetMemHandle", "cudaIpcCloseMemHandle"});
  CHECK(decide(snapshot, "vllm-2026-10").missing ==
        Names{"cudaDeviceReset", "cudaMalloc", "cudaIpcGetMemHandle", "cudaHostUnregister"});
  CHECK(decide(snapshot, "flashinfer-b12x").missing ==
        Names{"cudaMalloc", "cudaIpcGetMemHandle", "cudaIpcCloseMemHandle"});
}

TEST_CASE("the b12x wrapper binds TileLang's stub without a word") {
  ElfFacts shim = stub();
  shim.exports.assign(names_tilelang().begin(), names_tilelang().end());
  shim.exports.emplace_back("cudaGetErrorString");
  std::sort(shim.exports.begin(), shim.exports.end());
  const Snapshot snapshot = SnapshotBuilder(MapsText().library(kStub, 10)).elf(kStub, shim).build();
  CHECK(decide(snapshot, "flashinfer-b12x").works());
  CHECK(decide(snapshot, "flashinfer-legacy-rt11").missing ==
        std::vector<std::string>{"cudaDeviceReset"});
}

TEST_CASE("a handle also gives the names of what its object needs") {
  ElfFacts wrapper = make_plain("libcudart_wrapper.so").elf;
  wrapper.needed = {"libcudart.so.12"};
  const Snapshot snapshot =
      SnapshotBuilder(MapsText().library("/w/libcudart_wrapper.so", 5).library(kReal, 12))
          .elf("/w/libcudart_wrapper.so", wrapper)
          .elf(kReal, runtime12())
          .build();
  const Selection legacy = decide(snapshot, "sglang-legacy");
  CHECK(legacy.object == std::size_t{0});
  CHECK(legacy.missing.empty());
}

TEST_CASE("symbols that could not be read are not missing") {
  const Snapshot snapshot =
      SnapshotBuilder(MapsText().library(kReal, 12)).unread(kReal, "permission denied").build();
  const Selection selection = decide(snapshot, "sglang-2026-07");
  CHECK(selection.outcome == Outcome::selected);
  CHECK(selection.missing.empty());
  CHECK_FALSE(selection.missing_known);
}

TEST_CASE("dlerror names the object as the loader knows it") {
  const std::string link = "/t/link/libcudart_stub.so";
  const Snapshot snapshot = SnapshotBuilder(MapsText().library(kStub, 10))
                                .live()
                                .elf(kStub, stub())
                                .state(kStub, FileState::same)
                                .link(link, kStub)
                                .build();
  CHECK(decide(snapshot, "sglang-legacy").error_text ==
        link + ": undefined symbol: cudaDeviceReset");
}

TEST_CASE("SGLang on a replaced file that was loaded through a link maps a second runtime") {
  const Snapshot snapshot =
      SnapshotBuilder(MapsText().library(std::string(kReal) + " (deleted)", 12))
          .live()
          .elf(kReal, runtime12())
          .state(kReal, FileState::replaced, key(77))
          .link("/n/link/libcudart.so.12", kReal)
          .disk(kReal, elf_file(77, stub()))
          .build();
  const Selection selection = decide(snapshot, "sglang-2026-07");
  CHECK(selection.open == OpenOutcome::new_object);
  CHECK(selection.disk_path == std::string(kReal));
  CHECK(selection.missing == std::vector<std::string>{"cudaDeviceReset"});
  CHECK(selection.error_text == std::string(kReal) + ": undefined symbol: cudaDeviceReset");
}

TEST_CASE("nothing found: each consumer's own text") {
  const Snapshot snapshot =
      SnapshotBuilder(MapsText().library("/r/libc.so.6", 1)).empty_env().build();
  const std::string text = "libcudart is not loaded in the current process";
  for (const char* id : {"sglang-2026-07", "sglang-legacy", "flashinfer-2026-09",
                         "flashinfer-legacy-rt10", "flashinfer-legacy-rt11"}) {
    INFO(id);
    CHECK(decide(snapshot, id).error_text == text);
    CHECK(decide(snapshot, id).error_type == "AssertionError");
  }
  for (const char* id : {"vllm-legacy", "vllm-2026-07", "vllm-2026-10"}) {
    INFO(id);
    CHECK(decide(snapshot, id).error_text == text + ", try setting VLLM_CUDART_SO_PATH");
  }
  CHECK(decide(snapshot, "flashinfer-b12x").error_type == "RuntimeError");
}

TEST_CASE("the texts of a failed file name check and of a line without a path") {
  const Snapshot bad = SnapshotBuilder(MapsText().library("/r/mylibcudart.so.12", 1)).build();
  CHECK(decide(bad, "sglang-legacy").error_text ==
        "Unexpected filename: mylibcudart.so.12 for library libcudart");
  const Snapshot pseudo =
      SnapshotBuilder(MapsText().mapping("[anon:libcudart]", 0, "rw-p")).build();
  CHECK(decide(pseudo, "sglang-legacy").error_type == "ValueError");
  CHECK(decide(pseudo, "sglang-legacy").error_text == "substring not found");
}

TEST_CASE("VLLM_CUDART_SO_PATH is a fallback, never an override") {
  const Snapshot snapshot = SnapshotBuilder(MapsText().library(kStub, 10))
                                .elf(kStub, stub())
                                .env("VLLM_CUDART_SO_PATH", "/opt/libcudart.so.12")
                                .disk("/opt/libcudart.so.12", elf_file(50, runtime12()))
                                .build();
  const Selection legacy = decide(snapshot, "vllm-legacy");
  CHECK(legacy.chosen_text == kStub);
  CHECK(has_step(legacy, "VLLM_CUDART_SO_PATH", StepVerdict::noted));
  const Selection fixed = decide(snapshot, "vllm-2026-07");
  CHECK(fixed.chosen_text == "/opt/libcudart.so.12");
  CHECK(fixed.open == OpenOutcome::loads);
  CHECK(fixed.missing_known);
  CHECK(fixed.works());
}

TEST_CASE("VLLM_CUDART_SO_PATH naming nothing ends in the loader's error") {
  const Snapshot snapshot = SnapshotBuilder(MapsText().library("/r/libc.so.6", 1))
                                .env("VLLM_CUDART_SO_PATH", "/opt/missing/libcudart.so.12")
                                .build();
  const Selection selection = decide(snapshot, "vllm-2026-10");
  CHECK(selection.outcome == Outcome::selected);
  CHECK(selection.open == OpenOutcome::fails);
  CHECK(selection.error_text ==
        "/opt/missing/libcudart.so.12: cannot open shared object file: No such file or directory");
  CHECK(decide(snapshot, "scan-substring").outcome == Outcome::none);
}

TEST_CASE("VLLM_CUDART_SO_PATH set but empty opens the main program") {
  const Snapshot snapshot = SnapshotBuilder(MapsText().library("/usr/bin/python3", 1))
                                .executable_is("/usr/bin/python3")
                                .env("VLLM_CUDART_SO_PATH", "")
                                .build();
  const Selection selection = decide(snapshot, "vllm-2026-07");
  CHECK(selection.outcome == Outcome::selected);
  CHECK(selection.chosen_text.empty());
  CHECK(selection.object == std::size_t{0});
  CHECK_FALSE(selection.missing_known);
}

TEST_CASE("VLLM_CUDART_SO_PATH may be a bare name, which the loader searches") {
  const Snapshot snapshot = SnapshotBuilder(MapsText().library("/r/private_copy.so", 1))
                                .elf("/r/private_copy.so", runtime12())
                                .env("VLLM_CUDART_SO_PATH", "libcudart.so.12")
                                .build();
  const Selection selection = decide(snapshot, "vllm-2026-07");
  CHECK(selection.object == std::size_t{0});
  CHECK(selection.open == OpenOutcome::old_object);
  CHECK(selection.works());
}

TEST_CASE("an unknown environment is said, and is not an unset variable") {
  const Snapshot snapshot = SnapshotBuilder(MapsText().library("/r/libc.so.6", 1)).build();
  const Selection selection = decide(snapshot, "vllm-2026-07");
  CHECK(selection.outcome == Outcome::none);
  CHECK(has_step(selection, "VLLM_CUDART_SO_PATH", StepVerdict::noted));
}

TEST_CASE("one file under two names and a data mapping of it is one answer") {
  const Snapshot snapshot = SnapshotBuilder(MapsText()
                                                .mapping("/o/lib/libcudart.so", 12, "r--s")
                                                .library("/o/lib/libcudart.so.11.0", 12))
                                .build();
  for (const Policy& policy : policies()) {
    if (!policy.scans_addresses) continue;
    INFO(policy.id);
    CHECK(policy.decide(policy, {snapshot, {}}).stability == Stability::stable);
  }
}

TEST_CASE("a deleted and a live file of other inodes are different answers") {
  const Snapshot snapshot =
      SnapshotBuilder(MapsText().library(kReal, 12).library(std::string(kReal) + " (deleted)", 13))
          .build();
  CHECK(decide(snapshot, "sglang-legacy").stability == Stability::order_dependent);
  CHECK(decide(snapshot, "sglang-2026-07").stability == Stability::order_dependent);
  CHECK(decide(snapshot, "flashinfer-2026-09").stability == Stability::stable);
}

TEST_CASE("a pseudo line counts as an object of its own for stability") {
  const Snapshot snapshot =
      SnapshotBuilder(MapsText().library(kReal, 12).mapping("[anon:libcudart]", 0, "rw-p")).build();
  const Selection legacy = decide(snapshot, "sglang-legacy");
  CHECK(legacy.outcome == Outcome::selected);
  CHECK(legacy.stability == Stability::order_dependent);
  CHECK(legacy.other_answers.size() == 1);
  CHECK(decide(snapshot, "sglang-2026-07").stability == Stability::stable);
}

TEST_CASE("two directories of one word: the assertion is an answer of another order") {
  const Snapshot snapshot = SnapshotBuilder(MapsText().library(kReal, 12).library(
                                                "/opt/libcudart-12.4/lib/libcublas.so.12", 13))
                                .build();
  CHECK(decide(snapshot, "sglang-legacy").stability == Stability::order_dependent);
  CHECK(decide(snapshot, "vllm-2026-07").stability == Stability::stable);
}

TEST_CASE("SGLang's unique match: two real paths give nothing, a stub beside one does not count") {
  const Snapshot two =
      SnapshotBuilder(MapsText().library("/a/libcudart.so.12", 1).library("/b/libcudart.so.13", 2))
          .build();
  const Selection none = decide(two, "sglang-unique");
  CHECK(none.outcome == Outcome::none);
  // Two lines matched: the reason is not that none did, and no step took one.
  CHECK(none.open_note == "several real paths match: no answer");
  CHECK(has_step(none, "/a/libcudart.so.12", StepVerdict::rejected));
  CHECK(has_step(none, "/b/libcudart.so.13", StepVerdict::rejected));
  CHECK(none.steps.size() == 2);
  const Snapshot with_stub =
      SnapshotBuilder(MapsText().library(kStub, 1).library(kReal, 2)).build();
  CHECK(decide(with_stub, "sglang-unique").chosen_text == kReal);
  const Snapshot stub_only = SnapshotBuilder(MapsText().library(kStub, 1)).build();
  CHECK(decide(stub_only, "sglang-unique").outcome == Outcome::undetermined);
}

TEST_CASE("a hundred looked-at paths are cut to 64 steps and a count") {
  MapsText maps;
  for (int i = 0; i < 100; ++i) {
    maps.mapping("/d" + std::to_string(i) + "/libcudart_x.so", 20, "r-xp");
  }
  maps.library(kReal, 12);
  const Selection selection = decide(SnapshotBuilder(maps).build(), "flashinfer-2026-09");
  REQUIRE(selection.steps.size() == 65);
  CHECK(selection.steps.back().reason == "... 37 more");
  CHECK(has_step(selection, kReal, StepVerdict::taken));
}

TEST_CASE("orders of addresses that were not tried are said") {
  MapsText maps;
  for (std::uint64_t i = 0; i < 70; ++i) {
    maps.mapping("/d" + std::to_string(i) + "/libcudart.so.12", 20 + i, "r-xp");
  }
  const Selection selection = decide(SnapshotBuilder(maps).build(), "flashinfer-2026-09");
  CHECK(selection.stability == Stability::order_dependent);
  CHECK(selection.other_answers.size() == 63);
  CHECK_THAT(selection.steps.back().reason, ContainsSubstring("not for 6 more"));
}
