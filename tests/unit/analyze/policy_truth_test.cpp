// The truth tables of the scanning rules: every name shape, one and two mapped lines. The letters
// were found by running each consumer's own code: M selected, d selected with the deleted mark,
// c selected with the mark cut, s selected as the stub fallback, - nothing, A assertion, E
// ValueError.
#include <array>
#include <string>
#include <string_view>

#include "cudart_doctor/analyze/policy.hpp"
#include "support/catch.hpp"
#include "support/snapshot_builder.hpp"
#include "support/synthetic_elf.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

namespace {

/// Columns: legacy, vLLM, SGLang's draft, SGLang, FlashInfer with any hash, with a lower-case one.
/// The released FlashInfer rule (hexadecimal in both cases) is the seventh.
constexpr std::array<std::string_view, 7> kColumns = {
    "sglang-legacy",         "vllm-2026-07",      "sglang-30870-draft", "sglang-2026-07",
    "flashinfer-5198-draft", "maps-anchored-hex", "flashinfer-2026-09"};

struct OneLine {
  std::string_view name;
  std::string_view answers;  ///< One letter a column.
};

constexpr OneLine kOneLine[] = {
    {"/r/libcudart.so", "MMMMMMM"},
    {"/r/libcudart.so.12", "MMMMMMM"},
    {"/r/libcudart.so.12.8.90", "MMMMMMM"},
    {"/r/libcudart-d0da41ae.so.11.0", "MMMMMMM"},
    {"/r/libcudart-D0DA41AE.so.11.0", "MMMMM-M"},
    {"/r/libcudart_stub.so", "M-ss---"},
    {"/r/libstub_cudart.so", "-------"},
    {"/r/libcudart-stub.so", "MMssM--"},
    {"/r/libcudart.so.12 (deleted)", "dddc---"},
    {"/r/libcudartfoo.so.1", "M-MM---"},
    {"/r/libcudart_mock.so", "M-MM---"},
    {"/r/libcudart.41118559.so.12", "MMMM---"},
    {"/r/libcudart-abc.def.so.12", "MMMM---"},
    {"/r/libcudart-.so.12", "MMMM---"},
    {"/r/libcudart.something", "MMMM---"},
    {"/r/libcudart.so.backup", "MMMM---"},
    {"/r/libcudart.so.12.bak", "MMMM---"},
    {"/r/libcudart.so.12-old", "MMMM---"},
    {"/r/libcudart.dylib", "AM-----"},
    {"/r/libcudart.json", "AM-----"},
    {"/r/libcudart_static.a", "A------"},
    {"/r/mylibcudart.so.12", "A------"},
    {"/r/libcudart/libcuda.so.1", "A------"},
    {"/r/stubs/libcudart.so", "MMMMMMM"},
    {"/r/stub/libcudart.so.12", "MMMMMMM"},
    {"/a b/libcudart.so.12", "MMMMMMM"},
    {"/r/LIBCUDART.so.12", "-------"},
    {"[anon:libcudart]", "E------"},
    {"/memfd:libcudart.so (deleted)", "A------"},
};

constexpr std::string_view kMark = " (deleted)";

std::uint64_t inode_for(std::string_view name, std::uint64_t inode) {
  return name.starts_with('/') ? inode : 0;
}

Selection decide(const Snapshot& snapshot, std::string_view id) {
  const Policy* policy = find_policy(id);
  REQUIRE(policy != nullptr);
  return policy->decide(*policy, {snapshot, {}});
}

void check_letter(const Selection& selection, std::string_view name, char letter) {
  const std::string cut(name.substr(0, name.size() - (name.ends_with(kMark) ? kMark.size() : 0)));
  switch (letter) {
    case '-': CHECK(selection.outcome == Outcome::none); return;
    case 'A': CHECK(selection.outcome == Outcome::unexpected_filename); return;
    case 'E': CHECK(selection.outcome == Outcome::no_path); return;
    default: break;
  }
  CHECK(selection.outcome == Outcome::selected);
  CHECK(selection.chosen_text == (letter == 'c' ? cut : std::string(name)));
  CHECK(selection.object.has_value());
  if (letter == 'd') {
    CHECK(selection.open == OpenOutcome::fails);
    CHECK(selection.error_type == "OSError");
    CHECK(selection.error_text ==
          std::string(name) + ": cannot open shared object file: No such file or directory");
  }
}

}  // namespace

TEST_CASE("one mapped line: every name shape, every rule") {
  for (const OneLine& row : kOneLine) {
    const Snapshot snapshot =
        SnapshotBuilder(MapsText().mapping(row.name, inode_for(row.name, 10), "r-xp")).build();
    for (std::size_t column = 0; column < kColumns.size(); ++column) {
      INFO(row.name << " by " << kColumns[column]);
      check_letter(decide(snapshot, kColumns[column]), row.name, row.answers[column]);
    }
  }
}

TEST_CASE("the legacy scan of vLLM and FlashInfer answers as SGLang's") {
  for (const OneLine& row : kOneLine) {
    const Snapshot snapshot =
        SnapshotBuilder(MapsText().mapping(row.name, inode_for(row.name, 10), "r-xp"))
            .empty_env()
            .build();
    for (const char* id : {"vllm-legacy", "flashinfer-legacy-rt10", "flashinfer-legacy-rt11"}) {
      INFO(row.name << " by " << id);
      check_letter(decide(snapshot, id), row.name, row.answers[0]);
    }
    INFO(row.name);
    check_letter(decide(snapshot, "vllm-2026-10"), row.name, row.answers[1]);
  }
}

TEST_CASE("FlashInfer's b12x scan selects where the legacy scan asserts") {
  for (const OneLine& row : kOneLine) {
    INFO(row.name);
    const Snapshot snapshot =
        SnapshotBuilder(MapsText().mapping(row.name, inode_for(row.name, 10), "r-xp")).build();
    const char legacy = row.answers[0];
    const bool marked = row.name.ends_with(kMark);
    check_letter(decide(snapshot, "flashinfer-b12x"), row.name,
                 legacy == 'A' ? (marked ? 'd' : 'M') : legacy);
  }
}

namespace {

struct TwoLines {
  std::string_view first;
  std::string_view second;
  /// A column: '1' or '2' and the suffix of the first table ('d', 'c', 's' or blank); "A ", "E ",
  /// "- " as there.
  std::array<std::string_view, 7> answers;
};

constexpr std::string_view kR12 = "/r/libcudart.so.12";
constexpr std::string_view kR13 = "/r/libcudart.so.13";

constexpr TwoLines kTwoLines[] = {
    {"/r/libcudart_stub.so", kR13, {"1", "2", "2", "2", "2", "2", "2"}},
    {kR13, "/r/libcudart_stub.so", {"1", "1", "1", "1", "1", "1", "1"}},
    {"/r/libstub_cudart.so", kR13, {"2", "2", "2", "2", "2", "2", "2"}},
    {"/r/libcudart_stub.so (deleted)", kR13, {"1d", "2", "2", "2", "2", "2", "2"}},
    {"/r/libcudart.so.12 (deleted)", kR13, {"1d", "1d", "1d", "1c", "2", "2", "2"}},
    {"/r/libcudart-stub.so", kR13, {"1", "1", "2", "2", "1", "2", "2"}},
    {"/r/libcudart_mock.so", kR13, {"1", "2", "1", "1", "2", "2", "2"}},
    {"/r/libcudart_stub.so", "/r/libcudart-stub.so", {"1", "2", "1s", "1s", "2", "-", "-"}},
    {"/r/libcudart/libcuda.so.1", kR13, {"A", "2", "2", "2", "2", "2", "2"}},
    {"/r/mylibcudart.so.12", kR13, {"A", "2", "2", "2", "2", "2", "2"}},
    {"/r/libcudart.json", kR13, {"A", "1", "2", "2", "2", "2", "2"}},
    {"[anon:libcudart]", kR13, {"E", "2", "2", "2", "2", "2", "2"}},
    {"/memfd:libcudart.so (deleted)", kR13, {"A", "2", "2", "2", "2", "2", "2"}},
    {kR12, kR13, {"1", "1", "1", "1", "1", "1", "1"}},
};

}  // namespace

TEST_CASE("two mapped lines, lower address first: which one is selected") {
  for (const TwoLines& row : kTwoLines) {
    const Snapshot snapshot =
        SnapshotBuilder(MapsText()
                            .mapping(row.first, inode_for(row.first, 10), "r-xp")
                            .mapping(row.second, inode_for(row.second, 11), "r-xp"))
            .build();
    for (std::size_t column = 0; column < kColumns.size(); ++column) {
      INFO(row.first << " below " << row.second << " by " << kColumns[column]);
      const std::string_view want = row.answers[column];
      const Selection selection = decide(snapshot, kColumns[column]);
      const std::string_view name = want.front() == '2' ? row.second : row.first;
      const bool taken = want.front() == '1' || want.front() == '2';
      const char letter = !taken ? want.front() : (want.size() > 1 ? want[1] : 'M');
      check_letter(selection, name, letter);
    }
  }
}

TEST_CASE("upstream's own cases for SGLang's rule") {
  const Snapshot stub_first = SnapshotBuilder(MapsText()
                                                  .library("/t/tilelang/lib/libcudart_stub.so", 10)
                                                  .library("/n/cu13/lib/libcudart.so.13", 11))
                                  .build();
  CHECK(decide(stub_first, "sglang-2026-07").chosen_text == "/n/cu13/lib/libcudart.so.13");
  const Snapshot deleted =
      SnapshotBuilder(MapsText().library("/n/cu13/lib/libcudart.so.13 (deleted)", 11)).build();
  CHECK(decide(deleted, "sglang-2026-07").chosen_text == "/n/cu13/lib/libcudart.so.13");
}

TEST_CASE("two majors in one process: each consumer's answer") {
  const Snapshot snapshot = SnapshotBuilder(MapsText()
                                                .library(kR12, 12)
                                                .library(kR13, 13)
                                                .library("/t/tilelang/lib/libstub_cudart.so", 14)
                                                .library("/t/torch/lib/libtorch_cuda.so", 15))
                                .elf(kR12, make_genuine_runtime("libcudart.so.12", "12.8").elf)
                                .elf(kR13, make_genuine_runtime("libcudart.so.13", "13.0").elf)
                                .elf("/t/torch/lib/libtorch_cuda.so",
                                     [] {
                                       ElfFacts elf = make_plain("libtorch_cuda.so").elf;
                                       elf.needed = {"libc10_cuda.so", "libcudart.so.13"};
                                       return elf;
                                     }())
                                .build();
  for (const std::string_view id : kColumns) {
    INFO(id);
    CHECK(decide(snapshot, id).chosen_text == kR12);
  }
  CHECK(decide(snapshot, "tilelang-stub").chosen_text == kR13);
  CHECK(decide(snapshot, "tilelang-stub-0.1.8").outcome == Outcome::aborts);
  CHECK(decide(snapshot, "cudnn-frontend").outcome == Outcome::multiple);
  CHECK(decide(snapshot, "cudnn-frontend").error_text ==
        "Multiple libcudart libraries found: libcudart.so.12 and libcudart.so.13");
  CHECK(decide(snapshot, "cudnn-frontend-2026-06").chosen_text == "libcudart.so.12");
  CHECK(decide(snapshot, "torch-elf").object == std::size_t{1});
  CHECK(decide(snapshot, "dt-needed:12").object == std::size_t{0});
  CHECK(decide(snapshot, "dt-needed:13").object == std::size_t{1});
}
