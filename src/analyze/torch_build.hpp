// Which CUDA major PyTorch was built for, as far as it shows from outside.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cudart_doctor/model/selection.hpp"
#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

struct TorchNeed {
  std::size_t library = 0;  ///< Index into Snapshot::objects.
  std::string soname;       ///< "libcudart.so.12"
};

/// What PyTorch's mapped libraries say of themselves.
struct TorchLook {
  std::optional<TorchNeed> need;  ///< Of the one that runs kernels, where that needs a runtime.
  std::vector<Step> steps;        ///< What was looked at.
};
TorchLook look_at_torch(const Snapshot& snapshot);

/// The major of torch.version.cuda: by the soname that its mapped library needs, else by the local
/// part of its version ("2.9.0+cu130"), else by the one NVIDIA runtime package beside it.
std::optional<int> torch_cuda_major(const Snapshot& snapshot);

/// Whether PyTorch is mapped or installed on the Python path.
bool torch_is_here(const Snapshot& snapshot);

}  // namespace cudart_doctor
