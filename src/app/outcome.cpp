#include "cudart_doctor/app/outcome.hpp"

#include <algorithm>
#include <utility>

#include "cudart_doctor/app/exit_code.hpp"
#include "cudart_doctor/app/formats.hpp"
#include "cudart_doctor/app/redact.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

bool colour(const Options& options, const World& world) {
  switch (options.color) {
    case ColorChoice::always: return true;
    case ColorChoice::never: return false;
    case ColorChoice::automatic: return world.colour_by_itself && options.output == "-";
  }
  return false;
}

/// With --redact no folder's name either.
std::optional<std::string> recording_folder(const Options& options) {
  if (options.command != Command::run) return std::nullopt;
  const bool hidden = options.redact && !options.launch.record.empty();
  return hidden ? "DIR" : options.launch.record;
}

}  // namespace

TextOptions text_options(const Options& options, const World& world) {
  // 80 unless the terminal is narrower: longer lines are no easier to read.
  const bool to_terminal = world.terminal_columns != 0 && options.output == "-";
  return {.color = colour(options, world) ? Color::on : Color::off,
          .verbose = options.verbose,
          .columns = to_terminal ? std::clamp(world.terminal_columns, kFewestColumns, kMostColumns)
                                 : kMostColumns,
          .explain_selection = options.explain_selection,
          .recording_folder = recording_folder(options)};
}

Report shown(const Options& options, Report report, const JudgeOptions& how) {
  if (!options.redact) return report;
  Anonymizer names;
  names.learn(report.snapshot);
  return redacted_report(report, names, how);
}

WorkResult rendered(const Options& options, const World& world, const Report& report) {
  WorkResult result;
  result.code = report.verdict.exit_code;
  result.output = rendered_report(report, options.format, text_options(options, world));
  if (!report.allowances.unused.empty()) {
    result.note = "allowed, but not found: " + join(report.allowances.unused, ", ");
  }
  if (options.annotate == Annotate::github) result.annotations = render_github(report);
  return result;
}

WorkResult failed(const Options& options, const Error& error) {
  WorkResult result;
  result.code = exit_code_of(end_for(error.kind), options.exit_style);
  result.message = error.message;
  if (options.redact) result.message = redacted_message(error.message);
  const Failure failure{
      {error.kind, result.message, error.sys_errno}, options.exit_style, result.code};
  result.output = rendered_failure(failure, options.format);
  if (options.annotate == Annotate::github) result.annotations = render_error_github(failure);
  return result;
}

int deliver(const Options& options, const World& world, const WorkResult& result) {
  if (!result.message.empty()) world.complain(result.message);
  if (!result.news.empty()) world.tell(result.news);
  if (!result.note.empty()) world.note(result.note);
  if (!result.annotations.empty()) world.annotate(result.annotations);
  if (result.output.empty()) return result.code;
  const auto written = world.write_output(options.output, result.output);
  if (written) return result.code;
  world.complain(written.error().message);
  return exit_code_of(RunEnd::usage, options.exit_style);
}

}  // namespace cudart_doctor
