// A report's JSON text as a document, within limits.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "cudart_doctor/base/result.hpp"

namespace cudart_doctor {

/// Read once and built while it is read; nothing is built beyond a limit. Values under "steps" (the
/// reasons of a rule's answer, half of a report) are looked at and not kept. Errors, without the
/// document's name: limit (size, depth, number of values), malformed.
Result<nlohmann::json> parse_document(std::string_view text);

}  // namespace cudart_doctor
