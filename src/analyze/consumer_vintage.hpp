// Which vintage of its rule a consumer has: by the text of the installed source, else by version.
#pragma once

#include <string>
#include <string_view>

namespace cudart_doctor {

/// Whether this source defines consumer `id`'s rule at all (vLLM moved its search through maps
/// between two files, sglang-kernel its preload).
bool defines_rule(std::string_view id, std::string_view source);

/// The two parts of a consumer's source: one file, except in vLLM from 0.21 on.
struct ConsumerSource {
  std::string_view search;  ///< Defines the rule.
  std::string_view list;    ///< Lists the names that are bound.
};

/// Policy id of the rule in consumer `id`'s source; "" when the text is none of the known ones:
/// then nothing is guessed from the version either.
std::string vintage_of_text(std::string_view id, const ConsumerSource& source);

/// Policy id of the rule that release `version` of consumer `id` has; "" when the version is empty
/// or a development one, or the release has no such rule.
std::string vintage_of_version(std::string_view id, std::string_view version);

}  // namespace cudart_doctor
