// The environment of the probe's children: the target's, and what keeps the driver's compiler cache
// out of it. Pure; never the doctor's own environment.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace cudart_doctor {

/// "NAME=VALUE" of each variable, with CUDA_CACHE_DISABLE=1: the cache hides a missing compiler,
/// and files would be left in the target's home. What makes the loader write files is left out.
std::vector<std::string> child_environment(
    const std::vector<std::pair<std::string, std::string>>& variables);

/// Those that CUDA or the loader read.
std::map<std::string, std::string> reported_environment(
    const std::vector<std::string>& environment);

}  // namespace cudart_doctor
