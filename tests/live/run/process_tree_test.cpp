// The processes below one, and signals to them.
#include "cudart_doctor/sys/process_tree.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>

#include "../live_support.hpp"
#include "started.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using live::Scratch;
using live::Started;

namespace {

std::set<pid_t> pids_of(const std::vector<TreeProcess>& processes) {
  std::set<pid_t> pids;
  for (const TreeProcess& process : processes) pids.insert(process.pid);
  return pids;
}

/// A folder that looks like /proc.
void add_process(const Scratch& proc, int pid, int parent, char state = 'S') {
  const std::string folder = proc.path(std::to_string(pid));
  std::filesystem::create_directory(folder);
  std::string text = std::to_string(pid) + " (a) ) b) " + state + " " + std::to_string(parent);
  for (int field = 5; field < 22; ++field) text += " 0";
  live::write_text(folder + "/stat", text + " " + std::to_string(1000 + pid) + " 0 0\n");
}

}  // namespace

TEST_CASE("descendants are all below a process, parents before their children") {
  const Scratch proc;
  add_process(proc, 1, 0);
  add_process(proc, 10, 1);
  add_process(proc, 30, 10);
  add_process(proc, 20, 30, 'Z');  // Its number is smaller than its parent's.
  add_process(proc, 40, 20);
  add_process(proc, 50, 1);
  const auto found = descendants(10, proc.path(""));
  REQUIRE(found);
  REQUIRE(found->size() == 3);
  CHECK((*found)[0].pid == 30);
  CHECK((*found)[1].pid == 20);
  CHECK((*found)[1].parent == 30);
  CHECK((*found)[1].state == 'Z');
  CHECK((*found)[1].start_ticks == 1020);
  CHECK((*found)[2].pid == 40);
}

TEST_CASE("parents in a ring do not hold the search") {
  const Scratch proc;
  add_process(proc, 10, 20);
  add_process(proc, 20, 10);
  add_process(proc, 30, 40);
  add_process(proc, 40, 30);
  const auto found = descendants(10, proc.path(""));
  REQUIRE(found);
  CHECK(pids_of(*found) == std::set<pid_t>{20});
}

TEST_CASE("a /proc that is not there is an error, a process without a stat is not") {
  const Scratch proc;
  std::filesystem::create_directory(proc.path("7"));
  CHECK(descendants(1, proc.path("")).value().empty());
  CHECK_FALSE(descendants(1, proc.path("nothing")));
}

TEST_CASE("orphans are adopted and found, and get the signal") {
  const pid_t launcher = ::fork();
  if (launcher == 0) {
    if (!adopt_orphans()) ::_exit(1);
    Started parent({.command = live::victim({"orphan"})});
    const pid_t orphan = std::stoi(parent.read_line());
    parent.wait();
    const auto found = descendants(::getpid(), "/proc");
    if (!found || pids_of(*found) != std::set<pid_t>{orphan}) ::_exit(2);
    if ((*found)[0].parent != ::getpid()) ::_exit(3);
    if (signal_processes(*found, SIGTERM) != 1) ::_exit(4);
    int status = 0;
    if (::waitpid(orphan, &status, 0) != orphan || WTERMSIG(status) != SIGTERM) ::_exit(5);
    // Gone: nobody gets it.
    ::_exit(signal_processes(*found, SIGTERM) == 0 ? 0 : 6);
  }
  int status = 0;
  ::waitpid(launcher, &status, 0);
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a number that another process got is not hit") {
  Started victim({.command = live::victim({"signals"})});
  REQUIRE(victim.read_line() == "ready");
  auto found = descendants(::getpid(), "/proc");
  REQUIRE(found);
  REQUIRE(pids_of(*found) == std::set<pid_t>{victim.pid()});
  (*found)[0].start_ticks += 1;
  CHECK(signal_processes(*found, SIGUSR1) == 0);
  (*found)[0].start_ticks -= 1;
  CHECK(signal_processes(*found, SIGUSR2) == 1);
  victim.close_input();
  CHECK(victim.read_rest() == "12 1\ndone\n");
}
