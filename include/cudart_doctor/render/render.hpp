// Report to bytes. Pure: the same report gives the same bytes.
#pragma once

#include <string>
#include <string_view>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/model/report.hpp"

namespace cudart_doctor {

enum class Color : bool { off, on };

struct TextOptions {
  Color color = Color::off;
  bool verbose = false;  ///< Steps of every selection, evidence of every candidate.
};

/// `snapshot` without what must not leave the machine: values of options named like secrets, and
/// of all variables that no report shows. A report of it is the same, byte for byte.
Snapshot redacted(Snapshot snapshot);

/// The report for an 80-column terminal: answer, evidence, remedy, what was not seen.
std::string render_text(const Report& report, const TextOptions& options);

/// The report as one JSON document with LF at its end; `schema_version` first.
std::string render_json(const Report& report);

/// The report as a block of Markdown (GFM) to paste into an issue. Foreign text makes no markup, no
/// link, no mention and no reference.
std::string render_markdown(const Report& report);

/// The report as one HTML page that needs nothing else: no network, no script.
std::string render_html(const Report& report);

/// The JSON document for a run that ended without a report; the schema's other form.
std::string render_error_json(const Error& error, int exit_code);

/// The published JSON Schema of render_json and render_error_json.
std::string_view json_schema();

}  // namespace cudart_doctor
