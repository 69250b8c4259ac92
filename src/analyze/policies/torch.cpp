// PyTorch's own libraries: they need a soname, and the loader's answer for it is theirs. Only
// libraries that are mapped are judged: before a launch, the plain loader rows tell more.
#include "analyze/torch_build.hpp"
#include "cudart_doctor/analyze/policy_families.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

/// How the loader comes to the soname where it is not loaded yet, and what stands before that.
std::vector<Step> circumstances(const Snapshot& snapshot, const TorchNeed& need) {
  std::vector<Step> steps;
  const LoadedObject& library = snapshot.objects[need.library];
  if (const ElfFacts* elf = library.elf.get()) {
    if (elf->runpath) {
      steps.push_back({*elf->runpath, StepVerdict::noted,
                       "its RUNPATH: LD_LIBRARY_PATH is searched before it"});
    } else if (elf->rpath) {
      steps.push_back({*elf->rpath, StepVerdict::noted,
                       "its RPATH: searched in this order, before LD_LIBRARY_PATH"});
    }
  }
  const Environment* environment = snapshot.environment.get();
  if (environment == nullptr) return steps;
  if (const std::string* preload = environment->find("LD_PRELOAD");
      preload != nullptr && preload->find("cudart") != std::string::npos) {
    steps.push_back({"LD_PRELOAD", StepVerdict::noted,
                     "names " + escape_foreign(*preload) +
                         ": loaded before all else, it answers for its soname"});
  }
  if (environment->find("TORCH_USE_RTLD_GLOBAL") != nullptr) {
    steps.push_back({"TORCH_USE_RTLD_GLOBAL", StepVerdict::noted,
                     "set: all that torch._C needs is in the global scope, and "
                     "libtorch_global_deps.so is not opened first"});
  }
  return steps;
}

Selection decide_torch(const Policy& policy, const PolicyInput& input) {
  TorchLook look = look_at_torch(input.snapshot);
  if (!look.need) {
    Selection selection =
        not_applicable(policy, "no library of PyTorch's that needs a CUDA runtime is mapped");
    selection.steps = std::move(look.steps);
    return selection;
  }
  const TorchNeed& need = *look.need;
  Selection selection = from_loader_answer(
      policy, input.snapshot, simulate_dlopen(input.snapshot, {need.soname, need.library}));
  selection.chosen_text = need.soname;
  std::vector<Step> steps = std::move(look.steps);
  for (auto& more : {circumstances(input.snapshot, need), selection.steps}) {
    steps.insert(steps.end(), more.begin(), more.end());
  }
  selection.steps = std::move(steps);
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
