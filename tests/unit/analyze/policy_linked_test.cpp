// elf-global and torch-memory-saver: slots decide, then the order of global scope.
#include <string>
#include <vector>

#include "cudart_doctor/analyze/policy.hpp"
#include "scope_world.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

namespace {

const std::vector<std::string> kMalloc = {"cudaMalloc", "cudaFree"};
const std::string kNode12 = "libcudart.so.12";
const std::string kNode13 = "libcudart.so.13";
const std::string kR12 = "/r/libcudart.so.12";
const std::string kR13 = "/r/libcudart.so.13";
const std::string kHook = "/h/torch_memory_saver_hook_mode_preload_cu13.abi3.so";
const std::string kTorch = "/t/libtorch_cuda.so";
const std::string kOther = "/o/libother.so";

Library runtime(const std::string& path) {
  const std::string node = path.substr(path.rfind('/') + 1);
  return {path, {}, kMalloc, node};
}
Library caller(const std::string& path, const std::string& node) {
  return {path, {node}, {}, {}, {{"cudaMalloc", node}}};
}

Selection decide(const Snapshot& snapshot, std::string_view id) {
  const Policy* policy = find_policy(id);
  REQUIRE(policy != nullptr);
  return policy->decide(*policy, {snapshot, {}});
}

/// "= PATH" or "? a b" or the outcome's number, and what the note says.
std::string answer(const Snapshot& snapshot, const Selection& selection) {
  if (selection.outcome == Outcome::selected) {
    return "= " + snapshot.objects[*selection.object].path();
  }
  std::string out = "?";
  for (const std::string& path : selection.possible) out += " " + path;
  return out;
}

}  // namespace

TEST_CASE("bound slots tell whom linked code calls, whatever the order says") {
  Snapshot snapshot =
      process_of(
          {{kProgram, {kNode12}}, runtime(kR12), caller(kTorch, kNode12), {kOther, {}, kMalloc}})
          .build();
  bind(snapshot, kTorch, {"cudaMalloc", kNode12}, kOther);
  const Selection selection = decide(snapshot, "elf-global");
  CHECK(answer(snapshot, selection) == "= " + kOther);
  CHECK(selection.open_note == "the slots of 1 library point into it");
  CHECK(selection.steps.front().reason ==
        "its slot points into " + kOther + " (reference to libcudart.so.12)");
  CHECK_THAT(selection.steps.back().reason, ContainsSubstring("without a version"));
}

TEST_CASE("two majors: it depends on the library") {
  Snapshot snapshot = process_of({{kProgram},
                                  caller(kTorch, kNode12),
                                  runtime(kR12),
                                  caller(kOther, kNode13),
                                  runtime(kR13)})
                          .build();
  CHECK(answer(snapshot, decide(snapshot, "elf-global")) == "? " + kR13 + " " + kR12);
  bind(snapshot, kTorch, {"cudaMalloc", kNode12}, kR12);
  bind(snapshot, kOther, {"cudaMalloc", kNode13}, kR13);
  const Selection selection = decide(snapshot, "elf-global");
  CHECK(selection.outcome == Outcome::undetermined);
  CHECK(answer(snapshot, selection) == "? " + kR13 + " " + kR12);
  CHECK_THAT(selection.open_note, ContainsSubstring("depends on the library"));
}

TEST_CASE("a slot that is not bound yet leaves the answer to the order of global scope") {
  Snapshot snapshot = process_of({{kProgram}, caller(kTorch, kNode12), runtime(kR12)}).build();
  bind(snapshot, kTorch, {"cudaMalloc", kNode12}, "");
  const Selection selection = decide(snapshot, "elf-global");
  CHECK(answer(snapshot, selection) == "= " + kR12);
  CHECK_THAT(selection.steps.front().reason, ContainsSubstring("not bound yet"));
}

TEST_CASE("a copy that may have been promoted first leaves it open") {
  const Snapshot snapshot =
      process_of(
          {{kProgram}, runtime("/s/libcudart.so.12"), caller(kTorch, kNode12), runtime(kR12)})
          .build();
  const Selection selection = decide(snapshot, "elf-global");
  CHECK(selection.outcome == Outcome::undetermined);
  CHECK(answer(snapshot, selection) == "? " + kR12 + " /s/libcudart.so.12");
}

TEST_CASE("nobody defines what is called: the call fails") {
  const Snapshot snapshot =
      process_of({{kProgram}, caller(kTorch, kNode12), runtime(kR13)}).build();
  const Selection selection = decide(snapshot, "elf-global");
  CHECK(selection.outcome == Outcome::not_found);
  CHECK(selection.error_text == "undefined symbol: cudaMalloc");
}

TEST_CASE("the rule does not apply where nothing calls cudaMalloc by symbol") {
  const Snapshot snapshot = process_of({{kProgram, {kNode12}}, runtime(kR12)}).build();
  CHECK(decide(snapshot, "elf-global").outcome == Outcome::not_applicable);
}

TEST_CASE("slots that could not be read are said to be so") {
  Snapshot snapshot = process_of({{kProgram}, caller(kTorch, kNode12), runtime(kR12)}).build();
  snapshot.objects[index_of(snapshot, kTorch)].slots =
      Fact<std::vector<Slot>>::unknown("no permission");
  CHECK_THAT(decide(snapshot, "elf-global").steps.front().reason,
             ContainsSubstring("could not be read: no permission"));
}

TEST_CASE("the preloaded hook forwards to its own runtime, even for callers of another major") {
  SnapshotBuilder builder = process_of({{kProgram},
                                        {kHook, {kNode13}, kMalloc},
                                        runtime(kR13),
                                        caller(kTorch, kNode12),
                                        runtime(kR12)});
  builder.env("LD_PRELOAD", kHook);
  const Snapshot snapshot = builder.build();
  const Selection selection = decide(snapshot, "torch-memory-saver");
  CHECK(answer(snapshot, selection) == "= " + kR13);
  CHECK(selection.missing_known);
  CHECK(selection.missing.empty());
  CHECK(answer(snapshot, decide(snapshot, "elf-global")) == "= " + kHook);
}

TEST_CASE("behind the hook nothing defines the name: it ends the process") {
  SnapshotBuilder builder = process_of({{kProgram}, {kHook, {}, kMalloc}});
  builder.env("LD_PRELOAD", kHook);
  const Selection selection = decide(builder.build(), "torch-memory-saver");
  CHECK(selection.outcome == Outcome::not_found);
  CHECK_THAT(selection.error_text, ContainsSubstring("exit 1"));
}

TEST_CASE("a hook that was opened, not preloaded, has no place in global scope") {
  const Snapshot snapshot =
      process_of({{kProgram}, {kHook, {kNode13}, kMalloc}, runtime(kR13)}).build();
  CHECK(decide(snapshot, "torch-memory-saver").outcome == Outcome::undetermined);
}

TEST_CASE("the hook of the other mode takes nothing over") {
  const Snapshot snapshot =
      process_of({{kProgram}, {"/h/torch_memory_saver_hook_mode_torch_cu13.abi3.so"}}).build();
  const Selection selection = decide(snapshot, "torch-memory-saver");
  CHECK(selection.outcome == Outcome::not_applicable);
  REQUIRE(selection.steps.size() == 1);
  CHECK(selection.steps.front().verdict == StepVerdict::rejected);
}
