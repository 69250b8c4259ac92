// Who brought a runtime and who uses it, in the report's words.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cudart_doctor/model/report.hpp"

namespace cudart_doctor {

/// Of a candidate, by index; one that says nothing where the report has none.
const Provenance& provenance_of(const Report& report, std::size_t candidate);

/// "needed by libtorch_cuda.so and 5 more", "2nd in load order", "used by libc10_cuda.so (12
/// names)": at most `most` names each. The place in load order is told where it is not that of the
/// addresses.
std::vector<std::string> provenance_phrases(const Report& report, std::size_t candidate,
                                            std::size_t most);

}  // namespace cudart_doctor
