// The families of selection rules, one file each; policy.cpp puts their rows together. Also what
// their rows share: how a chosen text is opened and bound, and how a loader answer is reported.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/analyze/loader.hpp"
#include "cudart_doctor/analyze/objects_view.hpp"
#include "cudart_doctor/analyze/policy.hpp"

namespace cudart_doctor {

std::vector<Policy> scanning_policies();        ///< vLLM, SGLang, FlashInfer.
std::vector<Policy> torch_policies();           ///< PyTorch's own DT_NEEDED.
std::vector<Policy> torch_preload_policies();   ///< PyTorch's preload from site-packages.
std::vector<Policy> tilelang_policies();        ///< TileLang's shim and its resolver.
std::vector<Policy> cudnn_frontend_policies();  ///< cuDNN's front end.
std::vector<Policy> pathfinder_policies();      ///< cuda-pathfinder, for CuPy and cuda-bindings.
std::vector<Policy> preload_policies();         ///< What is opened for the global scope at import.
std::vector<Policy> static_policies();          ///< Copies that nobody selects.
std::vector<Policy> loader_policies();          ///< dlopen of a soname.
std::vector<Policy> global_scope_policies();    ///< Linked code, and the hook that precedes it.

/// Opens `selection.chosen_text` as Python's ctypes does, binds the policy's names on it, and fills
/// open, object, disk_path, missing and the error.
void open_and_bind(const Policy& policy, const Snapshot& snapshot, Selection& selection);

/// A selection that ends as `answer` did; `chosen_text` is the name that was opened.
Selection from_loader_answer(const Policy& policy, const Snapshot& snapshot, LoaderAnswer answer);

/// Fills missing and missing_known for what `selection` opens. No error text is made.
void check_names(const Policy& policy, const Snapshot& snapshot, Selection& selection);

/// Which of `names` the object that `selection` opens lacks.
MissingNames missing_names(const Snapshot& snapshot, const Selection& selection,
                           std::span<const std::string_view> names);

/// The answer of a rule that has nothing to do here, and why.
Selection not_applicable(const Policy& policy, std::string why);

}  // namespace cudart_doctor
