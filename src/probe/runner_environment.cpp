#include "runner_environment.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace cudart_doctor {
namespace {

constexpr std::string_view kNoCache = "CUDA_CACHE_DISABLE";

/// The loader would leave files of the probe's children where the target has its own.
constexpr std::array<std::string_view, 3> kLeavesFiles = {"LD_DEBUG_OUTPUT", "LD_PROFILE",
                                                          "LD_PROFILE_OUTPUT"};

bool leaves_files(std::string_view name) {
  return std::find(kLeavesFiles.begin(), kLeavesFiles.end(), name) != kLeavesFiles.end();
}

bool concerns_cuda(std::string_view name) {
  constexpr std::array<std::string_view, 3> kLoader = {"LD_LIBRARY_PATH", "LD_PRELOAD", "LD_AUDIT"};
  return name.starts_with("CUDA_") || name.starts_with("NVIDIA_") ||
         std::find(kLoader.begin(), kLoader.end(), name) != kLoader.end();
}

}  // namespace

std::vector<std::string> child_environment(
    const std::vector<std::pair<std::string, std::string>>& variables) {
  std::vector<std::string> result;
  for (const auto& [name, value] : variables) {
    if (name != kNoCache && !leaves_files(name))
      result.push_back(std::string(name).append("=").append(value));
  }
  result.push_back(std::string(kNoCache) + "=1");
  return result;
}

std::map<std::string, std::string> reported_environment(
    const std::vector<std::string>& environment) {
  std::map<std::string, std::string> result;
  for (const std::string& entry : environment) {
    const std::size_t equals = entry.find('=');
    if (concerns_cuda(std::string_view(entry).substr(0, equals))) {
      result.emplace(entry.substr(0, equals), entry.substr(equals + 1));
    }
  }
  return result;
}

}  // namespace cudart_doctor
