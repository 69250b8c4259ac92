// The inspection of one target in supervised workers (docs/adr/0001), whatever is made of it.
#pragma once

#include <chrono>
#include <functional>

#include "cudart_doctor/analyze/judge.hpp"
#include "cudart_doctor/app/options.hpp"
#include "cudart_doctor/app/run.hpp"
#include "cudart_doctor/collect/capture.hpp"
#include "cudart_doctor/sys/supervise.hpp"

namespace cudart_doctor {

/// What is made of an identified report; the last step of a command.
using Finish = std::function<WorkResult(Report report, const JudgeOptions& how)>;

/// What a capture asks the pure layers.
CaptureRules capture_rules(ScanDepth depth);

/// Reads the files that the command line names, once, and before any worker is at work: one may be a
/// pipe. Errors: usage; timeout, naming the files, where they lie on a file system that does not
/// answer.
Result<JudgeOptions> read_judging_until(const Options& options,
                                        std::chrono::steady_clock::time_point end);

struct Inspection {
  const Options& options;  ///< Names the target.
  const World& world;
  std::chrono::steady_clock::time_point end;
  /// Of read_judging_until; nullptr: the files are still to be read.
  const JudgeOptions* how = nullptr;
  /// What `run` knows of the process by now; nullptr: it was not started by `run`.
  const Recording* recording = nullptr;
  /// As CaptureOptions::memory.
  int memory = -1;
};

/// Supervises workers until one finishes, or `end`. A file that does not answer is left out the
/// next time.
WorkResult supervised(const Inspection& inspection, const Finish& finish);

/// Keeps a worker's report until its process ends: giving back all the pieces would take its time.
/// What was kept before stays where it is, but is no longer in reach of leak checkers.
Report& kept_until_exit(Report report);

/// What is left until `end`, and never nothing: a deadline of 0 would be none.
std::chrono::milliseconds left_until(std::chrono::steady_clock::time_point end);

}  // namespace cudart_doctor
