// The report of a launch, once it is known which process it is about.
#pragma once

#include "cudart_doctor/analyze/judge.hpp"
#include "cudart_doctor/app/judgement.hpp"
#include "cudart_doctor/app/options.hpp"
#include "cudart_doctor/app/run.hpp"
#include "cudart_doctor/model/recording.hpp"

namespace cudart_doctor {

/// What a report is made of.
struct LaunchFacts {
  Recording recording;
  /// Of the process that the report is about; nullptr: none was judged.
  const Judgement* judgement = nullptr;
};

/// Makes the report in a supervised worker, writes it and, where asked for, the snapshot. How it
/// ended; `usage` where something could not be written.
RunEnd report_launch(const Options& options, const World& world, const JudgeOptions& how,
                     const LaunchFacts& facts);

}  // namespace cudart_doctor
