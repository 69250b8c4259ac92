// What a report or a failure is for whoever called: bytes in the format asked for, messages, an
// exit code.
#pragma once

#include "cudart_doctor/analyze/judge.hpp"
#include "cudart_doctor/app/options.hpp"
#include "cudart_doctor/app/run.hpp"
#include "cudart_doctor/render/render.hpp"
#include "cudart_doctor/sys/supervise.hpp"

namespace cudart_doctor {

TextOptions text_options(const Options& options, const World& world);

/// `report` (identified, not judged) as it may be shown: as it is, or without names.
Report shown(const Options& options, Report report, const JudgeOptions& how);

/// `report` is judged.
WorkResult rendered(const Options& options, const World& world, const Report& report);

WorkResult failed(const Options& options, const Error& error);

/// Says on stderr what there is to say, and writes the output to where -o says; the exit code.
int deliver(const Options& options, const World& world, const WorkResult& result);

}  // namespace cudart_doctor
