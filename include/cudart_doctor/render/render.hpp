// Report to bytes. Pure: the same report gives the same bytes.
#pragma once

#include <string>
#include <string_view>

#include "cudart_doctor/model/report.hpp"

namespace cudart_doctor {

enum class Color : bool { off, on };

struct TextOptions {
  Color color = Color::off;
  bool verbose = false;  ///< Steps of every selection, evidence of every candidate.
};

/// The report for an 80-column terminal: answer, evidence, remedy, what was not seen.
std::string render_text(const Report& report, const TextOptions& options);

/// The report as one JSON document with LF at its end; `schema_version` first.
std::string render_json(const Report& report);

/// The published JSON Schema of render_json.
std::string_view json_schema();

}  // namespace cudart_doctor
