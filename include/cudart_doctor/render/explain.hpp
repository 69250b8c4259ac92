// The answers of `explain` as text and as JSON. Pure, like the report.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "cudart_doctor/analyze/explain.hpp"
#include "cudart_doctor/analyze/explain_log.hpp"
#include "cudart_doctor/render/render.hpp"

namespace cudart_doctor {

/// All findings.
struct FindingsPage {};

struct FindingPage {
  const CatalogueEntry* entry = nullptr;
};

struct CodePage {
  int code = 0;
};

struct LogPage {
  LogAnswer answer;
  bool cut = false;  ///< The input was longer than what was read of it.
};

using ExplainPage = std::variant<FindingsPage, FindingPage, CodePage, LogPage>;

/// What is explained, and the judged report of the process where it was looked for; nullptr: none.
struct Explanation {
  ExplainPage page;
  const Report* report = nullptr;
  int exit_code = 0;
};

/// For an 80-column terminal.
std::string render_explain_text(const Explanation& explanation, const TextOptions& options);

/// One JSON document with LF at its end (docs/explain.md).
std::string render_explain_json(const Explanation& explanation);

}  // namespace cudart_doctor
