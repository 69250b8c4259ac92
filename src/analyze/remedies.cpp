// Releases were found by reading the scan in the published wheels on both sides of each change.
#include "cudart_doctor/analyze/remedies.hpp"

#include <algorithm>
#include <array>

namespace cudart_doctor {
namespace {

struct Remedy {
  std::string_view consumer;
  std::string_view fixed;
  std::string_view effect;
  std::string_view futile;
};

constexpr std::array kRemedies{
    Remedy{"vllm", "vLLM 0.26.0 or later (its pull 47586)",
           "the P2P check and sleep mode stop at the missing name; custom all-reduce is off",
           "VLLM_CUDART_SO_PATH: vLLM reads it only when its scan finds nothing"},
    Remedy{"sglang", "SGLang 0.5.16 or later (its pull 30870)",
           "custom all-reduce cannot be set up and is off until restart",
           "VLLM_CUDART_SO_PATH: not read by SGLang"},
    Remedy{"flashinfer", "FlashInfer 0.7.1 or later (its pull 5198)",
           "once bound: fused all-reduce is off until restart, without an error",
           "VLLM_CUDART_SO_PATH: not read by FlashInfer"},
};

const Remedy* find_remedy(std::string_view consumer) {
  const auto* const found =
      std::find_if(kRemedies.begin(), kRemedies.end(),
                   [consumer](const Remedy& remedy) { return remedy.consumer == consumer; });
  return found == kRemedies.end() ? nullptr : found;
}

}  // namespace

std::string fixed_release(std::string_view consumer) {
  const Remedy* remedy = find_remedy(consumer);
  return remedy == nullptr ? std::string() : std::string(remedy->fixed);
}

std::string failure_effect(std::string_view consumer) {
  const Remedy* remedy = find_remedy(consumer);
  return remedy == nullptr ? std::string("the consumer cannot bind its functions")
                           : std::string(remedy->effect);
}

std::vector<std::string> futile_overrides(std::string_view consumer) {
  const Remedy* remedy = find_remedy(consumer);
  if (remedy == nullptr) return {};
  return {std::string(remedy->futile)};
}

}  // namespace cudart_doctor
