// The answers of `tree` and `--all` in each of their formats. Pure, like the report.
#pragma once

#include <string>
#include <string_view>

#include "cudart_doctor/model/tree.hpp"
#include "cudart_doctor/render/render.hpp"

namespace cudart_doctor {

/// For an 80-column terminal: the gravest, the tree or the node's groups, who is odd, the remedy,
/// what was not seen. At most 40 lines, unless verbose or narrow.
std::string render_tree_text(const TreeReport& report, const TextOptions& options);

/// One JSON document with LF at its end (docs/tree.md, docs/tree.schema.json).
std::string render_tree_json(const TreeReport& report);

/// As render_line, for all of them: at most 80 bytes (LF and performance data apart).
std::string render_tree_line(const TreeReport& report);

/// As render_prometheus; counts of processes, no label tells one.
std::string render_tree_prometheus(const TreeReport& report);

}  // namespace cudart_doctor
