// Who shares a pair, and what is run after one of them took it along.
#include "probe/schedule.hpp"

#include "probe/differences.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;

namespace {

using Places = std::vector<std::size_t>;

ProbePlan plan_of(std::size_t count) {
  ProbePlan plan;
  plan.subjects.resize(count);
  return plan;
}

Job shared_job() { return {.subjects = {4, 5, 6, 7}}; }

ProbePlan plan_mapping(const FileKey& key, const std::string& path) {
  ProbePlan plan;
  plan.target_driver = MappedDriver{key, path};
  return plan;
}

}  // namespace

TEST_CASE("those that may share a pair do, at the place of the first of them") {
  auto plan = plan_of(5);
  plan.subjects[0].alone = true;
  plan.subjects[3].look_alike = true;
  const auto jobs = first_jobs(plan, {0, 1, 2, 3, 4});
  REQUIRE(jobs.size() == 3);
  CHECK(jobs[0].subjects == Places{0});
  CHECK(jobs[0].alone);
  CHECK(jobs[1].subjects == Places{1, 2, 4});
  CHECK_FALSE(jobs[1].alone);
  CHECK(jobs[2].subjects == Places{3});
}

TEST_CASE("after a loss the rest comes first and the repetition last") {
  std::deque<Job> jobs = {{.subjects = {9}, .alone = true}};
  add_follow_ups(shared_job(),
                 {.finished = {true, false, false, false},
                  .failed = {false, false, false, false},
                  .culprit = 1},
                 jobs);
  REQUIRE(jobs.size() == 3);
  CHECK(jobs[0].subjects == Places{6, 7});
  CHECK(jobs[1].subjects == Places{9});
  CHECK(jobs[2].subjects == Places{5});
  CHECK(jobs[2].repeat);
}

TEST_CASE("a failure without company is not repeated") {
  std::deque<Job> jobs;
  add_follow_ups(
      shared_job(),
      {.finished = {true, true, true, true}, .failed = {true, false, false, false}, .culprit = {}},
      jobs);
  CHECK(jobs.empty());
}

TEST_CASE("a failure in company is repeated alone") {
  std::deque<Job> jobs;
  add_follow_ups(
      shared_job(),
      {.finished = {true, true, true, true}, .failed = {false, false, true, false}, .culprit = {}},
      jobs);
  REQUIRE(jobs.size() == 1);
  CHECK(jobs[0].subjects == Places{6});
  CHECK(jobs[0].alone);
}

TEST_CASE("another libcuda than the process's is a difference") {
  const ProbeDriver driver{"/a/libcuda.so.1", {8, 1, 100}, 13000};
  CHECK(driver_difference(plan_mapping({8, 1, 200}, "/b/libcuda.so.1"), driver) ==
        "libcuda: the children got /a/libcuda.so.1, the process maps /b/libcuda.so.1");
}

TEST_CASE("one libcuda under another device number is no difference") {
  const ProbeDriver driver{"/a/libcuda.so.1", {8, 1, 100}, 13000};
  CHECK_FALSE(driver_difference(plan_mapping({0, 52, 100}, "/a/libcuda.so.1"), driver));
}
