// From observations to a report with findings and a verdict.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cudart_doctor/analyze/allow.hpp"
#include "cudart_doctor/analyze/profile.hpp"
#include "cudart_doctor/model/report.hpp"

namespace cudart_doctor {

struct JudgeOptions {
  Severity fail_on = Severity::error;
  /// Policy id that the user asked the headline to follow; empty: chosen by the consumers present.
  std::string policy;
  /// Name lists that the user asks to check; each becomes a row of the selections.
  std::vector<Profile> profiles = {};
  ExitStyle exit_style = ExitStyle::standard;
  std::vector<Allowance> allowances = {};
};

/// Runs two steps that do not depend on each other, in whatever order or at once.
using RunBoth = std::function<void(const std::function<void()>&, const std::function<void()>&)>;
void one_after_the_other(const std::function<void()>& first, const std::function<void()>& second);

/// The first half of make_report: identify, select, choose the headline. Judges nothing; enough to
/// plan a probe. The report does not depend on `run_both`.
Report identify(Snapshot snapshot, const JudgeOptions& options,
                const RunBoth& run_both = one_after_the_other);

/// The second half: fills findings and verdict of what identify() gave.
void judge(Report& report, const JudgeOptions& options);

/// The whole pure half of the pipeline: identify, select, judge. The same snapshot gives the same
/// report, byte for byte.
Report make_report(Snapshot snapshot, const JudgeOptions& options);

}  // namespace cudart_doctor
