// What helps and what does not. A release that changed the scan belongs to a rule (a row of the
// policy table); how a failure shows, and the override that is ignored, belong to the consumer.
#pragma once

#include <string_view>

namespace cudart_doctor {

/// The releases that have one rule, and the release that replaced it.
struct RuleRemedy {
  std::string_view policy;    ///< Id of the row.
  std::string_view affected;  ///< "FlashInfer before 0.7.1": the releases, as an operator says it.
  std::string_view successor =
      {};                         ///< Row of the release below; empty: the rule is the present one.
  std::string_view release = {};  ///< "FlashInfer 0.7.1 or later (#5198)"
};

/// nullptr for a row that no scanning release has (drafts, loader rules).
const RuleRemedy* find_rule_remedy(std::string_view policy);

/// How a failed binding of the rule's consumer shows, in a few words.
std::string_view failure_effect(std::string_view policy, std::string_view consumer);

/// Why VLLM_CUDART_SO_PATH, which people try first, does not help here; empty where nothing is
/// known of the consumer.
std::string_view futile_override(std::string_view consumer);

}  // namespace cudart_doctor
