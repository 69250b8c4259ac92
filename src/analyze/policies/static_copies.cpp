// Runtimes that were linked in statically: their users select nothing, and nobody else can take
// them. The row exists so that a consumer that is missing elsewhere has its place.
#include "cudart_doctor/analyze/policy_families.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

Selection decide_static(const Policy& policy, const PolicyInput& input) {
  Selection selection = not_applicable(policy, {});
  std::vector<std::string> holders;
  for (const Candidate& candidate : input.candidates) {
    if (candidate.kind != RuntimeKind::static_copy) continue;
    const std::string version =
        candidate.version.empty() ? "of unknown version" : escape_foreign(candidate.version);
    selection.steps.push_back({candidate.path, StepVerdict::noted,
                               "holds a private runtime, " + version + ": not selectable"});
    holders.push_back(escape_foreign(base_name(candidate.path)));
  }
  selection.open_note = holders.empty()
                            ? "no static copy in the objects that were searched"
                            : "nothing is selected: private copies in " + join(holders, ", ");
  return selection;
}

}  // namespace

std::vector<Policy> static_policies() {
  return {{.id = "static",
           .title = "static copies",
           .vintage = "all",
           .source = "linked objects; signs in their code and texts",
           .summary = "each object calls the runtime that was linked into it, and no search "
                      "happens: cuda-bindings (and what uses it: TensorRT-LLM's _ipc_utils, "
                      "vLLM's MiniMax workspace), CuPy's cores, NCCL, NVSHMEM, NVIDIA's math "
                      "libraries",
           .current = true,
           .decide = decide_static}};
}

}  // namespace cudart_doctor
