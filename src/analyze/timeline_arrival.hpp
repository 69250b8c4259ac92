// Who asked for what a load brought, as a sentence: the objects that needed it, then the place that
// opened the last of them, then who imported or called that.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cudart_doctor/model/report.hpp"

namespace cudart_doctor {

struct ArrivalChain {
  /// "brought by libtilelang.so (DT_NEEDED), dlopened at tilelang/__init__.py:31, imported by ...".
  std::string text;
  std::vector<std::string> bringers;  ///< Paths of the objects that brought it, as bytes.
};

/// Of the load `event`, index into Recording::events.
ArrivalChain arrival_of(const Report& report, const Recording& recording, std::size_t event);

/// "tilelang/__init__.py:31, imported by vllm/.../mhc.py:12 <- vllm/.../deepseek_v4.py:40"; one
/// entry a file, at most `most`. "" without frames.
std::string python_chain(const Snapshot& snapshot, const std::vector<PythonFrame>& frames,
                         std::size_t most);

}  // namespace cudart_doctor
