// `cudart-doctor explain`: what its argument stands for, and the log on stdin.
#pragma once

#include <chrono>

#include "cudart_doctor/app/options.hpp"
#include "cudart_doctor/app/run.hpp"
#include "cudart_doctor/render/explain.hpp"

namespace cudart_doctor {

/// What is to be explained; reads stdin for "-" until `end`. Errors: usage where the word is not
/// known, naming the near ones; io; timeout.
Result<ExplainPage> read_page(const Options& options, const World& world,
                              std::chrono::steady_clock::time_point end);

/// Ok, or undecided where nothing in the log was recognised, or where `report` (nullptr: nothing
/// was inspected) lacks a required probe.
RunEnd explain_end(const ExplainPage& page, const Report* report);

}  // namespace cudart_doctor
