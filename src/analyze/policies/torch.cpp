// PyTorch's own libraries: they need a soname, and the loader's answer for it is theirs. Only
// libraries that are mapped are judged: before a launch, the plain loader rows tell more.
#include <array>

#include "cudart_doctor/analyze/objects_view.hpp"
#include "cudart_doctor/analyze/policy_families.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

/// In the order in which they are asked: the one that runs kernels first.
constexpr std::array<std::string_view, 3> kLibraries = {"libtorch_cuda.so", "libc10_cuda.so",
                                                        "libtorch_global_deps.so"};

struct Need {
  std::size_t library = 0;
  std::string soname;
};

std::optional<Need> find_need(const Snapshot& snapshot, std::vector<Step>& steps) {
  for (const std::string_view name : kLibraries) {
    for (const std::size_t object : loaded_objects(snapshot)) {
      const LoadedObject& library = snapshot.objects[object];
      if (base_name(library.path()) != name) continue;
      const ElfFacts* elf = library.elf.get();
      if (elf == nullptr) {
        steps.push_back({library.path(), StepVerdict::noted,
                         "could not be read: " + escape_foreign(library.elf.reason())});
        continue;
      }
      for (const std::string& needed : elf->needed) {
        if (!needed.starts_with("libcudart")) continue;
        steps.push_back({library.path(), StepVerdict::noted, "needs " + escape_foreign(needed)});
        return Need{object, needed};
      }
      steps.push_back({library.path(), StepVerdict::rejected, "needs no CUDA runtime"});
    }
  }
  return std::nullopt;
}

Selection decide_torch(const Policy& policy, const PolicyInput& input) {
  std::vector<Step> steps;
  const auto need = find_need(input.snapshot, steps);
  if (!need) {
    Selection selection;
    selection.policy = std::string(policy.id);
    selection.outcome = Outcome::not_applicable;
    selection.open_note = "no library of PyTorch's that needs a CUDA runtime is mapped";
    selection.steps = std::move(steps);
    return selection;
  }
  Selection selection = from_loader_answer(
      policy, input.snapshot, simulate_dlopen(input.snapshot, {need->soname, need->library}));
  selection.chosen_text = need->soname;
  selection.steps.insert(selection.steps.begin(), steps.begin(), steps.end());
  return selection;
}

}  // namespace

std::vector<Policy> torch_policies() {
  return {{.id = "torch-elf",
           .consumer = "torch",
           .title = "PyTorch",
           .vintage = "all",
           .source = "DT_NEEDED of libtorch_cuda.so, libc10_cuda.so, libtorch_global_deps.so",
           .summary = "the loader's answer for the soname that PyTorch's mapped libraries need",
           .current = true,
           .decide = decide_torch}};
}

}  // namespace cudart_doctor
