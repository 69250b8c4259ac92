// The probe's place in an inspection: plan, look who uses the cards, decide, run.
#pragma once

#include <chrono>
#include <functional>
#include <string_view>

#include "cudart_doctor/analyze/probe_plan.hpp"
#include "cudart_doctor/model/probe.hpp"
#include "cudart_doctor/model/report.hpp"

namespace cudart_doctor {

struct ProbeLimits {
  std::string_view proc_root = "/proc";
  std::chrono::milliseconds left{0};  ///< Until the whole inspection must have ended.
  std::function<void(std::string_view what)> progress;
};

/// What the probe of `report`'s runtimes saw, or why it was not run. `report` is identified, not
/// judged. Nothing of CUDA is opened in this process.
ProbeFacts probe_runtimes(const Report& report, const ProbeRequest& request,
                          const ProbeLimits& limits);

}  // namespace cudart_doctor
