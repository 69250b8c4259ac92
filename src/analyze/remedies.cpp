// Releases were found by reading the scan in the published wheels on both sides of each change.
#include "cudart_doctor/analyze/remedies.hpp"

#include <algorithm>
#include <array>

namespace cudart_doctor {
namespace {

constexpr std::string_view kFlashInferFix = "FlashInfer 0.7.1 or later (#5198)";

// vLLM's scan of 0.26.0 is still the present one; 0.31.0 only binds more names.
constexpr std::array<RuleRemedy, 8> kRules{{
    {"vllm-2026-10", "vLLM 0.31.0 and later"},
    {"vllm-2026-07", "vLLM 0.26 to 0.30"},
    {"vllm-legacy", "vLLM before 0.26.0", "vllm-2026-07", "vLLM 0.26.0 or later (#47586)"},
    {"sglang-2026-07", "SGLang 0.5.16 and later"},
    {"sglang-legacy", "SGLang before 0.5.16", "sglang-2026-07", "SGLang 0.5.16 or later (#30870)"},
    {"flashinfer-2026-09", "FlashInfer 0.7.1 and later"},
    {"flashinfer-legacy-rt11", "FlashInfer before 0.7.1", "flashinfer-2026-09", kFlashInferFix},
    {"flashinfer-legacy-rt10", "FlashInfer before 0.7.1", "flashinfer-2026-09", kFlashInferFix},
}};

struct ConsumerNotes {
  std::string_view consumer;
  std::string_view effect;
  std::string_view futile;
};

constexpr std::array<ConsumerNotes, 3> kConsumers{{
    {"vllm", "custom all-reduce is off until restart; the P2P check and sleep mode fail",
     "VLLM_CUDART_SO_PATH: vLLM reads it only when its scan finds nothing"},
    {"sglang", "custom all-reduce cannot be set up and is off until restart",
     "VLLM_CUDART_SO_PATH: not read by SGLang"},
    {"flashinfer", "once bound: fused and custom all-reduce off until restart, often silently",
     "VLLM_CUDART_SO_PATH: not read by FlashInfer"},
}};

const ConsumerNotes* find_notes(std::string_view consumer) {
  const auto* const found =
      std::find_if(kConsumers.begin(), kConsumers.end(),
                   [consumer](const ConsumerNotes& notes) { return notes.consumer == consumer; });
  return found == kConsumers.end() ? nullptr : found;
}

}  // namespace

const RuleRemedy* find_rule_remedy(std::string_view policy) {
  const auto* const found =
      std::find_if(kRules.begin(), kRules.end(),
                   [policy](const RuleRemedy& rule) { return rule.policy == policy; });
  return found == kRules.end() ? nullptr : found;
}

std::string_view failure_effect(std::string_view policy, std::string_view consumer) {
  if (policy == "flashinfer-b12x") return "the experimental PCIe collectives cannot be prepared";
  const ConsumerNotes* notes = find_notes(consumer);
  return notes == nullptr ? std::string_view("the consumer cannot bind its functions")
                          : notes->effect;
}

std::string_view futile_override(std::string_view consumer) {
  const ConsumerNotes* notes = find_notes(consumer);
  return notes == nullptr ? std::string_view() : notes->futile;
}

}  // namespace cudart_doctor
