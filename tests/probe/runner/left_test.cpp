// A child that cannot be killed is named and left. A frozen one stands for uninterruptible sleep:
// in the first version of the freezer it gets no signal until it is thawed.
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>

#include "cudart_doctor/probe/runner.hpp"
#include "live/live_support.hpp"
#include "probe_support.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;

namespace {

/// A control group of this test that is thawed and removed at the end.
class Freezer {
 public:
  Freezer() : folder_("/sys/fs/cgroup/freezer/doctor-test-" + std::to_string(::getpid())) {
    usable_ = ::mkdir(folder_.c_str(), 0755) == 0;
  }
  ~Freezer() {
    if (!usable_) return;
    put("freezer.state", "THAWED");
    probe::all_marked_end();
    ::rmdir(folder_.c_str());
  }
  Freezer(const Freezer&) = delete;
  Freezer& operator=(const Freezer&) = delete;

  [[nodiscard]] bool usable() const { return usable_; }
  void freeze(std::int64_t pid) {
    put("cgroup.procs", std::to_string(pid));
    put("freezer.state", "FROZEN");
  }

 private:
  void put(const std::string& file, const std::string& text) {
    std::ofstream(folder_ + "/" + file) << text << std::flush;
  }
  std::string folder_;
  bool usable_ = false;
};

}  // namespace

TEST_CASE("a child that cannot be killed is named and left, in time") {
  Freezer freezer;
  if (!freezer.usable()) live::skip_program("no freezer control group may be made here");
  auto options = probe::options();
  options.deadline = std::chrono::milliseconds(800);
  bool frozen = false;
  options.progress = [&](std::string_view what) {
    if (frozen || what != "probe: load") return;
    for (const std::int64_t pid : probe::marked_processes()) freezer.freeze(pid);
    frozen = true;
  };
  const auto began = std::chrono::steady_clock::now();
  const auto facts = run_probe(probe::single_plan("*:0:load=hang"), options);
  CHECK(std::chrono::steady_clock::now() - began < options.deadline + std::chrono::seconds(2));
  REQUIRE(frozen);
  CHECK(facts.runtimes[0].exporter.kind == ChildEndKind::left);
  CHECK(facts.runtimes[0].exporter.pid > 0);
}
