#include "cudart_doctor/analyze/step_log.hpp"

#include <algorithm>
#include <utility>

namespace cudart_doctor {

void StepLog::add(std::string_view subject, StepVerdict verdict, std::string_view reason) {
  if (mode_ == Mode::discard) return;
  Step step{std::string(subject), verdict, std::string(reason)};
  if (!seen_.emplace(step.subject, verdict, step.reason).second) return;
  steps_.push_back(std::move(step));
}

void StepLog::append(const std::vector<Step>& steps) {
  for (const Step& step : steps) add(step.subject, step.verdict, step.reason);
}

std::vector<Step> StepLog::take() {
  std::vector<Step> steps = std::exchange(steps_, {});
  seen_.clear();
  if (steps.size() <= kMaxSteps) return steps;
  const auto cut = steps.begin() + static_cast<std::ptrdiff_t>(kMaxSteps);
  std::vector<Step> late;
  std::copy_if(cut, steps.end(), std::back_inserter(late),
               [](const Step& step) { return step.verdict == StepVerdict::taken; });
  const std::size_t left_out = steps.size() - kMaxSteps;
  steps.erase(cut - static_cast<std::ptrdiff_t>(std::min(late.size(), kMaxSteps)), steps.end());
  steps.insert(steps.end(), late.begin(), late.end());
  steps.resize(std::min(steps.size(), kMaxSteps));
  steps.push_back({"", StepVerdict::noted, "... " + std::to_string(left_out) + " more"});
  return steps;
}

}  // namespace cudart_doctor
