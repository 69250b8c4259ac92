// The families of selection rules, one file each; policy.cpp puts their rows together. Also what
// their rows share: how a chosen text is opened and bound, and how a loader answer is reported.
#pragma once

#include <string_view>
#include <vector>

#include "cudart_doctor/analyze/loader.hpp"
#include "cudart_doctor/analyze/policy.hpp"

namespace cudart_doctor {

std::vector<Policy> scanning_policies();        ///< vLLM, SGLang, FlashInfer.
std::vector<Policy> torch_policies();           ///< PyTorch's own DT_NEEDED.
std::vector<Policy> tilelang_policies();        ///< TileLang's shim and its resolver.
std::vector<Policy> cudnn_frontend_policies();  ///< cuDNN's front end.
std::vector<Policy> loader_policies();          ///< dlopen of a soname.
std::vector<Policy> global_scope_policies();    ///< Linked code, and the hook that precedes it.

/// Opens `selection.chosen_text` as Python's ctypes does, binds the policy's names on it, and fills
/// open, object, disk_path, missing and the error.
void open_and_bind(const Policy& policy, const Snapshot& snapshot, Selection& selection);

/// A selection that ends as `answer` did; `chosen_text` is the name that was opened.
Selection from_loader_answer(const Policy& policy, const Snapshot& snapshot, LoaderAnswer answer);

/// Fills missing and missing_known for what `selection` opens. No error text is made.
void check_names(const Policy& policy, const Snapshot& snapshot, Selection& selection);

}  // namespace cudart_doctor
