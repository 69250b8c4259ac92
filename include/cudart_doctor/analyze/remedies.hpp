// What helps and what does not, for each consumer: the release that fixed its rule, the override
// that it reads or ignores, and how its failure shows. Measured on the consumers' own wheels.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cudart_doctor {

/// "FlashInfer 0.7.1 or later (its pull 5198)"; empty for a consumer without such a release.
std::string fixed_release(std::string_view consumer);

/// How a failed or wrong binding shows, in one sentence.
std::string failure_effect(std::string_view consumer);

/// Why the override variable that people try first does not help this consumer.
std::vector<std::string> futile_overrides(std::string_view consumer);

}  // namespace cudart_doctor
