// Report to bytes. Pure: the same report gives the same bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/model/report.hpp"

namespace cudart_doctor {

enum class Color : bool { off, on };

/// TextOptions::explain_selection: of the headline's rule, or of every rule.
inline constexpr std::string_view kHeadlineRule = "headline";
inline constexpr std::string_view kEveryRule = "all";

/// A report is never asked to be narrower than this.
inline constexpr std::size_t kFewestColumns = 40;
inline constexpr std::size_t kMostColumns = 80;

struct TextOptions {
  Color color = Color::off;
  bool verbose = false;  ///< Steps of every selection, evidence of every candidate.
  /// Columns of the terminal, kFewestColumns to kMostColumns.
  std::size_t columns = kMostColumns;
  /// A policy id, kHeadlineRule or kEveryRule: how it decides, step by step. "": not asked for.
  std::string explain_selection{};
  /// Of a command that was recorded just now, and is not to be started again for a longer report:
  /// the folder that keeps its recording, "" for none. Nothing: the same look can be repeated.
  std::optional<std::string> recording_folder{};
};

/// `snapshot` without what must not leave the machine: values of options named like secrets, and
/// of all variables that no report shows. A report of it is the same, byte for byte.
Snapshot redacted(Snapshot snapshot);

/// The report for a terminal: answer, evidence, remedy, what was not seen.
std::string render_text(const Report& report, const TextOptions& options);

/// The report as one JSON document with LF at its end; `schema_version` first.
std::string render_json(const Report& report);

/// The report as a block of Markdown (GFM) to paste into an issue. Foreign text makes no markup, no
/// link, no mention and no reference.
std::string render_markdown(const Report& report);

/// The report as one HTML page that needs nothing else: no network, no script.
std::string render_html(const Report& report);

/// The answer in one line of at most 80 bytes (LF apart), code and verdict first: for
/// node-problem-detector, a termination message, Nagios (--exit-style nagios: performance data
/// behind it).
std::string render_line(const Report& report);

/// Gauges for a Prometheus textfile collector: no time stamps, no labels without a bound. What is
/// not known has no sample.
std::string render_prometheus(const Report& report);

/// A JUnit suite with one case for each finding of the catalogue.
std::string render_junit(const Report& report);

/// Workflow commands of GitHub Actions, one a line: every finding that counts, and what left the
/// verdict open.
std::string render_github(const Report& report);

/// A run that ended without a report.
struct Failure {
  Error error;
  ExitStyle exit_style = ExitStyle::standard;
  int exit_code = 0;  ///< In that style.
};

/// The same documents for a run that ended without a report. JSON: the schema's other form.
std::string render_error_json(const Failure& failure);
std::string render_error_line(const Failure& failure);
std::string render_error_prometheus();
std::string render_error_junit(const Failure& failure);
std::string render_error_github(const Failure& failure);

/// The published JSON Schema of render_json and render_error_json.
std::string_view json_schema();

}  // namespace cudart_doctor
