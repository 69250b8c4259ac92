// The answers of `diff` as text and as JSON. Pure, like the report.
#pragma once

#include <cstddef>
#include <string>

#include "cudart_doctor/model/comparison.hpp"
#include "cudart_doctor/render/render.hpp"

namespace cudart_doctor {

/// "A", "B", ... "Z", "AA": what the reports are called, in the order in which they were given.
std::string digest_label(std::size_t index);

/// For an 80-column terminal. One line where nothing differs and nothing was unread.
std::string render_diff_text(const Comparison& comparison, const TextOptions& options);

/// One JSON document with LF at its end (docs/diff.md).
std::string render_diff_json(const Comparison& comparison, int exit_code);

}  // namespace cudart_doctor
