// RT11, and what other rules ask about overrides.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/analyze/rules.hpp"
#include "rule_phrases.hpp"

namespace cudart_doctor {

/// Rows of a consumer, or of all scanning ones where `consumer` is empty, that count in full.
Rows counting_rows(const Observations& seen, std::string_view consumer);

/// CUDNN_FRONTEND_CUDART_LIB_NAME, which 1.25.0 and later read; nullptr where it is not set.
const std::string* frontend_override(const Snapshot& snapshot);

/// RT11: an override that is set and not read, or names nothing.
std::vector<Finding> judge_overrides(const Observations& seen);

}  // namespace cudart_doctor
