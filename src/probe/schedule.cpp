#include "schedule.hpp"

#include <utility>

namespace cudart_doctor {

std::deque<Job> first_jobs(const ProbePlan& plan, const std::vector<std::size_t>& runnable) {
  std::deque<Job> jobs;
  std::optional<std::size_t> shared;
  for (const std::size_t subject : runnable) {
    const ProbeSubject& of_plan = plan.subjects[subject];
    if (of_plan.alone || of_plan.look_alike) {
      jobs.push_back({.subjects = {subject}, .alone = true});
    } else if (shared) {
      jobs[*shared].subjects.push_back(subject);
    } else {
      shared = jobs.size();
      jobs.push_back({.subjects = {subject}});
    }
  }
  return jobs;
}

void add_follow_ups(const Job& job, const JobEnd& end, std::deque<Job>& jobs) {
  Job rest;
  for (std::size_t place = 0; place < job.subjects.size(); ++place) {
    const bool lost = end.culprit == place;
    if (!end.finished[place] && !lost) {
      rest.subjects.push_back(job.subjects[place]);
    } else if (place > 0 && (lost || end.failed[place])) {
      jobs.push_back({.subjects = {job.subjects[place]}, .alone = true, .repeat = true});
    }
  }
  if (!rest.subjects.empty()) jobs.push_front(std::move(rest));
}

}  // namespace cudart_doctor
