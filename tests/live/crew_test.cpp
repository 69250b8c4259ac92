// Tasks that end well, badly or never: each is answered for once, and none costs another.
#include "cudart_doctor/sys/crew.hpp"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <ctime>
#include <map>
#include <set>

#include "support/catch.hpp"

namespace cudart_doctor {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct Outcome {
  std::map<std::size_t, std::string> taken;
  std::map<std::size_t, LostTask> lost;
};

Outcome crew(CrewLimits limits, std::size_t tasks,
             const std::function<std::string(std::size_t, Progress&)>& work,
             const std::function<std::uint64_t(std::size_t)>& owner = {}) {
  Outcome out;
  const auto done = run_crew(
      limits, tasks,
      {.work = work,
       .taken = [&](std::size_t task,
                    const std::string& answer) { CHECK(out.taken.emplace(task, answer).second); },
       .lost = [&](const LostTask& lost) { CHECK(out.lost.emplace(lost.task, lost).second); },
       .owner = owner});
  REQUIRE(done.has_value());
  CHECK(out.taken.size() + out.lost.size() == tasks);
  return out;
}

CrewLimits limits(milliseconds all, milliseconds one, unsigned workers = 2) {
  return {.end = steady_clock::now() + all, .per_task = one, .workers = workers};
}

TEST_CASE("every task is done once, by workers that keep what they learned") {
  const unsigned workers = GENERATE(1U, 2U, 4U);
  std::size_t kept = 0;  // In each worker a copy of its own.
  const Outcome out = crew(limits(milliseconds(20'000), milliseconds(10'000), workers), 500,
                           [&](std::size_t task, Progress&) {
                             ++kept;
                             return std::to_string(task) + " " + std::to_string(kept);
                           });
  CHECK(out.lost.empty());
  std::size_t most = 0;
  for (const auto& [task, answer] : out.taken) {
    CHECK(answer.starts_with(std::to_string(task) + " "));
    most = std::max(most, std::size_t(std::stoul(answer.substr(answer.find(' ')))));
  }
  CHECK(most >= 500 / workers);
  CHECK(kept == 0);
}

TEST_CASE("no task, no worker") {
  CHECK(crew(limits(milliseconds(1000), milliseconds(1000)), 0, {}).taken.empty());
}

TEST_CASE("answers of megabytes arrive whole") {
  const Outcome out =
      crew(limits(milliseconds(30'000), milliseconds(20'000)), 8, [](std::size_t task, Progress&) {
        return std::string((task + 1) << 20U, static_cast<char>('a' + task));
      });
  REQUIRE(out.taken.size() == 8);
  for (const auto& [task, answer] : out.taken) {
    CHECK(answer == std::string((task + 1) << 20U, static_cast<char>('a' + task)));
  }
}

TEST_CASE("a task that never ends costs its own time only, and its step is told") {
  const auto begin = steady_clock::now();
  const Outcome out = crew(limits(milliseconds(20'000), milliseconds(300)), 40,
                           [](std::size_t task, Progress& progress) -> std::string {
                             if (task % 20 != 7) return "done";
                             progress.set("read file", "/mnt/silent");
                             while (true) ::pause();
                           });
  CHECK(steady_clock::now() - begin < milliseconds(10'000));
  CHECK(out.taken.size() == 38);
  REQUIRE(out.lost.size() == 2);
  for (const std::size_t task : {7U, 27U}) {
    REQUIRE(out.lost.contains(task));
    CHECK(out.lost.at(task).kind == ErrorKind::timeout);
    CHECK(out.lost.at(task).step.stage == "read file");
    CHECK(out.lost.at(task).step.path == "/mnt/silent");
  }
}

TEST_CASE("tasks that wait do not keep others waiting") {
  const auto begin = steady_clock::now();
  const Outcome out = crew(limits(milliseconds(60'000), milliseconds(4'000)), 40,
                           [](std::size_t task, Progress&) -> std::string {
                             if (task >= 10) return "done";
                             while (true) ::pause();
                           });
  // One after another by two workers they would have taken 20 seconds.
  CHECK(steady_clock::now() - begin < milliseconds(12'000));
  CHECK(out.taken.size() == 30);
  CHECK(out.lost.size() == 10);
}

TEST_CASE("a task that works is not taken for one that waits") {
  const Outcome out =
      crew(limits(milliseconds(60'000), milliseconds(30'000), 1), 3, [](std::size_t, Progress&) {
        static std::size_t kept = 0;
        const auto begin = std::clock();
        while (std::clock() - begin < CLOCKS_PER_SEC) ++kept;
        return std::to_string(::getpid());
      });
  REQUIRE(out.taken.size() == 3);
  CHECK(out.taken.at(0) == out.taken.at(1));
  CHECK(out.taken.at(1) == out.taken.at(2));
}

TEST_CASE("whose tasks wait has his others done behind everybody else's") {
  // Every second one is his and does not answer: more than can wait at once until the end.
  const auto begin = steady_clock::now();
  const Outcome out = crew(
      limits(milliseconds(4'000), milliseconds(3'000)), 200,
      [](std::size_t task, Progress&) -> std::string {
        if (task % 2 == 0) return "done";
        while (true) ::pause();
      },
      [](std::size_t task) { return task % 2; });
  CHECK(out.taken.size() == 100);
  CHECK(out.lost.size() == 100);
  CHECK(steady_clock::now() - begin < milliseconds(10'000));
}

TEST_CASE("what had to come behind the others is done all the same") {
  const Outcome out = crew(
      limits(milliseconds(60'000), milliseconds(2'000)), 100,
      [](std::size_t task, Progress&) -> std::string {
        if (task >= 8) return "done";
        while (true) ::pause();
      },
      [](std::size_t) { return 7; });
  CHECK(out.taken.size() == 92);
  CHECK(out.lost.size() == 8);
}

TEST_CASE("a task that ends its worker, by signal, exception or exit, is lost alone") {
  const Outcome out = crew(limits(milliseconds(20'000), milliseconds(10'000)), 30,
                           [](std::size_t task, Progress&) -> std::string {
                             if (task == 3) std::raise(SIGKILL);
                             if (task == 13) throw std::runtime_error("no");
                             if (task == 23) ::_exit(0);
                             return "done";
                           });
  CHECK(out.taken.size() == 27);
  REQUIRE(out.lost.size() == 3);
  CHECK(out.lost.at(3).kind == ErrorKind::io);
  CHECK(out.lost.at(3).message.find("SIGKILL") != std::string::npos);
  CHECK(out.lost.contains(13));
  CHECK(out.lost.contains(23));
}

TEST_CASE("at the end of all, what was not begun is told from what did not end") {
  const auto begin = steady_clock::now();
  const Outcome out = crew(limits(milliseconds(100), milliseconds(10'000), 1), 10,
                           [](std::size_t task, Progress& progress) -> std::string {
                             if (task < 4) return "done";
                             progress.set("wait", "/x");
                             while (true) ::pause();
                           });
  CHECK(steady_clock::now() - begin < milliseconds(5'000));
  CHECK(out.taken.size() == 4);
  CHECK(out.lost.at(4).step.path == "/x");
  for (std::size_t task = 5; task < 10; ++task) {
    CHECK(out.lost.at(task).step.stage.empty());
    CHECK(out.lost.at(task).kind == ErrorKind::timeout);
  }
}

TEST_CASE("a worker that takes all memory loses its task, and the machine nothing") {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  const Outcome out = crew(limits(milliseconds(30'000), milliseconds(20'000)), 3,
                           [](std::size_t task, Progress&) -> std::string {
                             if (task == 1) return std::string(std::size_t{600} << 20U, 'x');
                             return "done";
                           });
  CHECK(out.taken.size() == 2);
  CHECK(out.lost.contains(1));
#endif
}

}  // namespace
}  // namespace cudart_doctor
