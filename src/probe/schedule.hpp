// Which candidates share a pair of children, which are alone, and what is still to be run after one
// of them took its pair along. Pure.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "cudart_doctor/analyze/probe_plan.hpp"

namespace cudart_doctor {

/// Subjects (places in the plan) that one pair serves in turn.
struct Job {
  std::vector<std::size_t> subjects;
  bool alone = false;   ///< Nobody else in its processes.
  bool repeat = false;  ///< Failed in company before.
};

/// The first jobs: one for all that may share, at the place of the first of them, and one for each
/// that is alone. `runnable` are places in the plan, in its order.
std::deque<Job> first_jobs(const ProbePlan& plan, const std::vector<std::size_t>& runnable);

/// How a shared pair ended, by places in its job.
struct JobEnd {
  std::vector<bool> finished;
  std::vector<bool> failed;
  std::optional<std::size_t> culprit;
};

/// What to run after it: the rest together, before anything else; then, at the very end, what
/// failed after others had been there. The first of a pair had no company: it is not run again.
void add_follow_ups(const Job& job, const JobEnd& end, std::deque<Job>& jobs);

}  // namespace cudart_doctor
