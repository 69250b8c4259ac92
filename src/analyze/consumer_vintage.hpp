// Which vintage of its rule a consumer has: by the text of the installed source, else by version.
#pragma once

#include <string>
#include <string_view>

namespace cudart_doctor {

/// Whether this source defines the search through maps at all (vLLM moved it between two files).
bool defines_maps_search(std::string_view source);

/// Policy id of the rule in `source`, a file of consumer `id` that defines the search; "" when the
/// text is none of the released ones: then nothing is guessed from the version either.
std::string vintage_of_text(std::string_view id, std::string_view source);

/// Policy id of the rule that release `version` of consumer `id` has; "" when the version is empty
/// or a development one, or the release has no such rule.
std::string vintage_of_version(std::string_view id, std::string_view version);

}  // namespace cudart_doctor
