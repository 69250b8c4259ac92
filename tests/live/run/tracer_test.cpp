// Processes are held before their end, and nothing else of them changes.
#include "cudart_doctor/sys/tracer.hpp"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <stdexcept>
#include <string>

#include "../live_support.hpp"
#include "cudart_doctor/sys/child_process.hpp"
#include "cudart_doctor/sys/signal_relay.hpp"
#include "started.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using live::Started;
using live::victim;

namespace {

/// A tracer and what wakes it.
class Watch {
 public:
  Watch() : relay_(SignalRelay::start().value()) {}
  Tracer tracer;

  /// The next event; a test that waits too long for one fails.
  TraceEvent next() {
    while (events_.empty()) {
      pollfd watched = {relay_.descriptor(), POLLIN, 0};
      if (::poll(&watched, 1, 20000) <= 0) throw std::runtime_error("nothing happens");
      static_cast<void>(relay_.relay({}));
      for (const TraceEvent& event : tracer.poll()) events_.push_back(event);
    }
    const TraceEvent event = events_.front();
    events_.pop_front();
    return event;
  }
  /// The wait status of `started`, whose exit stops are let go on.
  int end_of(Started& started) {
    while (true) {
      const TraceEvent event = next();
      if (event.kind == TraceEventKind::exiting) tracer.release(event.pid);
      if (event.kind != TraceEventKind::ended || event.pid != started.pid()) continue;
      started.forget();
      return event.status;
    }
  }

 private:
  SignalRelay relay_;
  std::deque<TraceEvent> events_;
};

std::string proc_text(pid_t pid, const char* name) {
  return live::read_text("/proc/" + std::to_string(pid) + "/" + name);
}

/// Whether the process's memory can be read: the magic number of its program.
bool memory_is_readable(pid_t pid) {
  const std::string maps = proc_text(pid, "maps");
  if (maps.find(RUN_VICTIM) == std::string::npos) return false;
  char bytes[4] = {};
  iovec to = {bytes, sizeof bytes};
  iovec from = {reinterpret_cast<void*>(std::stoul(maps, nullptr, 16)), sizeof bytes};
  return ::process_vm_readv(pid, &to, 1, &from, 1, 0) == 4 && std::string(bytes, 4) ==
                                                                  "\x7f"
                                                                  "ELF";
}

struct Ending {
  const char* how;
  int status;  ///< As from wait.
};

/// The same victim without a tracer.
int plain_status(const char* how) {
  Started started({.command = victim({"end", how})});
  started.read_line();
  started.close_input();
  return started.wait();
}

void no_core_files() {
  const rlimit none = {0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
}

}  // namespace

TEST_CASE("a process is held before its end with its memory, however it ends") {
  no_core_files();
  const char* const how =
      GENERATE("return", "exit", "_exit", "abort", "segv", "term", "thread_exit");
  INFO(how);
  const int plain = plain_status(how);
  Watch watch;
  Started started({.command = victim({"end", how})});
  REQUIRE(started.read_line() == "ready");
  REQUIRE(watch.tracer.seize(started.pid()).has_value());
  CHECK(watch.tracer.is_traced(started.pid()));
  started.close_input();
  const TraceEvent exiting = watch.next();
  REQUIRE(exiting.kind == TraceEventKind::exiting);
  CHECK(exiting.pid == started.pid());
  CHECK_FALSE(exiting.others_live);
  CHECK(memory_is_readable(started.pid()));
  CHECK(exiting.status == plain);
  watch.tracer.release(started.pid());
  const TraceEvent ended = watch.next();
  CHECK(ended.kind == TraceEventKind::ended);
  CHECK(ended.pid == started.pid());
  CHECK(ended.status == plain);
  CHECK_FALSE(watch.tracer.is_traced(started.pid()));
  started.forget();
}

TEST_CASE("a core file is written, or not, as without a tracer") {
  const live::Scratch scratch;
  char before[4096];
  rlimit limit = {};
  REQUIRE(::getcwd(before, sizeof before) != nullptr);
  REQUIRE(::chdir(scratch.path("").c_str()) == 0);
  ::getrlimit(RLIMIT_CORE, &limit);
  const rlimit most = {limit.rlim_max, limit.rlim_max};
  ::setrlimit(RLIMIT_CORE, &most);
  const int plain = plain_status("segv");
  Watch watch;
  Started started({.command = victim({"end", "segv"})});
  REQUIRE(started.read_line() == "ready");
  REQUIRE(watch.tracer.seize(started.pid()).has_value());
  started.close_input();
  // WCOREDUMP is in it.
  CHECK(watch.end_of(started) == plain);
  ::setrlimit(RLIMIT_CORE, &limit);
  REQUIRE(::chdir(before) == 0);
}

TEST_CASE("SIGKILL from outside is held too") {
  Watch watch;
  Started started({.command = victim({"end", "pause"})});
  REQUIRE(started.read_line() == "ready");
  REQUIRE(watch.tracer.seize(started.pid()).has_value());
  ::kill(started.pid(), SIGKILL);
  const TraceEvent exiting = watch.next();
  REQUIRE(exiting.kind == TraceEventKind::exiting);
  CHECK(memory_is_readable(started.pid()));
  watch.tracer.release(exiting.pid);
  CHECK(WTERMSIG(watch.end_of(started)) == SIGKILL);
}

TEST_CASE("a first thread that leaves the others is held with the memory, and told") {
  Watch watch;
  Started started({.command = victim({"end", "leader_leaves"})});
  REQUIRE(started.read_line() == "ready");
  REQUIRE(watch.tracer.seize(started.pid()).has_value());
  started.close_input();
  const TraceEvent exiting = watch.next();
  REQUIRE(exiting.kind == TraceEventKind::exiting);
  CHECK(exiting.others_live);
  CHECK(memory_is_readable(started.pid()));
  watch.tracer.release(started.pid());
  const TraceEvent ended = watch.next();
  CHECK(ended.kind == TraceEventKind::ended);
  CHECK(WEXITSTATUS(ended.status) == 23);
  started.forget();
}

TEST_CASE("a traced process that executes another program is told, and traced on") {
  Watch watch;
  Started started({.command = victim({"end", "exec", RUN_VICTIM, "end", "return"})});
  REQUIRE(started.read_line() == "ready");
  REQUIRE(watch.tracer.seize(started.pid()).has_value());
  started.close_input();
  const TraceEvent executed = watch.next();
  CHECK(executed.kind == TraceEventKind::executed);
  CHECK(watch.tracer.is_traced(started.pid()));
  CHECK(watch.next().kind == TraceEventKind::exiting);
  watch.tracer.release(started.pid());
  CHECK(WEXITSTATUS(watch.end_of(started)) == 3);
}

TEST_CASE("one that executes from another thread is told, and not traced any more") {
  Watch watch;
  Started started({.command = victim({"end", "thread_exec", "/bin/sh", "-c", "exit 7"})});
  REQUIRE(started.read_line() == "ready");
  REQUIRE(watch.tracer.seize(started.pid()).has_value());
  started.close_input();
  const TraceEvent executed = watch.next();
  CHECK(executed.kind == TraceEventKind::executed);
  CHECK_FALSE(watch.tracer.is_traced(started.pid()));
  CHECK(WEXITSTATUS(watch.end_of(started)) == 7);
}

TEST_CASE("one that was let go is not held at its end") {
  Watch watch;
  Started started({.command = victim({"signals"})});
  REQUIRE(started.read_line() == "ready");
  REQUIRE(watch.tracer.seize(started.pid()).has_value());
  watch.tracer.let_go(started.pid());
  CHECK_FALSE(watch.tracer.is_traced(started.pid()));
  // Its stop, in which it is let go, comes with a later poll.
  while (proc_text(started.pid(), "status").find("TracerPid:\t0\n") == std::string::npos) {
    CHECK(watch.tracer.poll().empty());
  }
  started.close_input();
  CHECK(started.read_rest() == "done\n");
  CHECK(watch.next().kind == TraceEventKind::ended);
  started.forget();
}

TEST_CASE("signals to a traced process arrive, each once") {
  Watch watch;
  Started started({.command = victim({"signals"})});
  REQUIRE(started.read_line() == "ready");
  REQUIRE(watch.tracer.seize(started.pid()).has_value());
  std::string expected;
  for (const int number : {SIGHUP, SIGINT, SIGTRAP, SIGUSR1, SIGTERM, SIGRTMIN + 1}) {
    ::kill(started.pid(), number);
    expected += std::to_string(number) + " 1\n";
  }
  started.close_input();
  const int status = watch.end_of(started);
  CHECK(started.read_rest() == expected + "done\n");
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a traced process that is stopped stays so until SIGCONT") {
  Watch watch;
  Started started({.command = victim({"signals"})});
  REQUIRE(started.read_line() == "ready");
  REQUIRE(watch.tracer.seize(started.pid()).has_value());
  ::kill(started.pid(), SIGSTOP);
  // Two stops come, of the signal's delivery and of the whole process: the second one counts.
  const auto waits_to_be_seen = [&] {
    siginfo_t info = {};
    ::waitid(P_PID, static_cast<id_t>(started.pid()), &info, WSTOPPED | WNOHANG | WNOWAIT | __WALL);
    return info.si_pid != 0;
  };
  const auto is_stopped = [&] {
    return proc_text(started.pid(), "status").find("State:\tt") != std::string::npos;
  };
  std::vector<TraceEvent> told;
  while (!is_stopped() || waits_to_be_seen()) {
    for (const TraceEvent& event : watch.tracer.poll()) told.push_back(event);
  }
  REQUIRE(told.size() == 1);
  CHECK(told.front().kind == TraceEventKind::stopped);
  CHECK(told.front().pid == started.pid());
  CHECK(told.front().status == SIGSTOP);
  CHECK(is_stopped());
  started.close_input();
  ::kill(started.pid(), SIGUSR1);
  CHECK_FALSE(waits_to_be_seen());
  CHECK(is_stopped());
  ::kill(started.pid(), SIGCONT);
  const int status = watch.end_of(started);
  CHECK(started.read_rest() == "10 1\n18 1\ndone\n");
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a followed command's children are followed, by fork, vfork and from a thread") {
  Watch watch;
  Started started(
      {.command = victim({"children", RUN_STATIC_VICTIM, "end", "return"}), .traced = true});
  watch.tracer.adopt(started.pid());
  started.close_input();
  int forked = 0;
  int executed = 0;
  int exiting = 0;
  while (true) {
    const TraceEvent event = watch.next();
    if (event.kind == TraceEventKind::forked) ++forked;
    if (event.kind == TraceEventKind::forked) CHECK(event.pid == started.pid());
    if (event.kind == TraceEventKind::executed) ++executed;
    if (event.kind == TraceEventKind::exiting) {
      if (event.pid != started.pid()) {
        CHECK(event.status == 3 << 8);
        ++exiting;
      }
      watch.tracer.release(event.pid);
    }
    if (event.kind != TraceEventKind::ended || event.pid != started.pid()) continue;
    CHECK(WEXITSTATUS(event.status) == 3);
    break;
  }
  started.forget();
  CHECK(forked == 3);
  CHECK(executed == 3);
  CHECK(exiting == 3);
}

TEST_CASE("a followed process that executes from another thread is told, and followed on") {
  Watch watch;
  Started started(
      {.command = victim({"end", "thread_exec", RUN_VICTIM, "end", "exit"}), .traced = true});
  watch.tracer.adopt(started.pid());
  started.close_input();
  CHECK(watch.next().kind == TraceEventKind::executed);
  CHECK(watch.tracer.is_traced(started.pid()));
  const TraceEvent exiting = watch.next();
  CHECK(exiting.kind == TraceEventKind::exiting);
  CHECK(exiting.pid == started.pid());
  watch.tracer.release(started.pid());
  CHECK(WEXITSTATUS(watch.end_of(started)) == 4);
}

TEST_CASE("a followed process may be let go with all its threads") {
  Watch watch;
  Started started({.command = victim({"end", "exec", RUN_VICTIM, "threads"}), .traced = true});
  watch.tracer.adopt(started.pid());
  started.close_input();
  REQUIRE(watch.next().kind == TraceEventKind::executed);
  watch.tracer.let_go(started.pid());
  const TraceEvent ended = watch.next();
  CHECK(ended.kind == TraceEventKind::ended);
  CHECK(ended.pid == started.pid());
  CHECK(WEXITSTATUS(ended.status) == 0);
  started.forget();
}

TEST_CASE("200 threads and a thousand signals a second give what they give without a tracer") {
  const bool followed = GENERATE(false, true);
  const std::string plain = live::output_of({.command = victim({"threads"})});
  CHECK_THAT(plain, ContainsSubstring("ticks many"));
  Watch watch;
  Started started({.command = victim({"threads"}), .traced = followed});
  if (followed) {
    watch.tracer.adopt(started.pid());
  } else {
    REQUIRE(watch.tracer.seize(started.pid()).has_value());
  }
  CHECK(WEXITSTATUS(watch.end_of(started)) == 0);
  CHECK(started.read_rest() == plain);
}

TEST_CASE("a process that another tracer has is refused with its number") {
  Watch watch;
  Started started({.command = victim({"signals"})});
  REQUIRE(started.read_line() == "ready");
  auto pipe = make_pipe();
  REQUIRE(pipe);
  const pid_t other = ::fork();
  if (other == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const bool done = ::ptrace(PTRACE_SEIZE, started.pid(), 0L, 0L) == 0;
    static_cast<void>(!::write(pipe->second.get(), done ? "y" : "n", 1));
    while (true) ::pause();
  }
  char byte = 0;
  REQUIRE(::read(pipe->first.get(), &byte, 1) == 1);
  REQUIRE(byte == 'y');
  const auto refused = watch.tracer.seize(started.pid());
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::permission);
  CHECK_THAT(refused.error().message,
             ContainsSubstring("process " + std::to_string(other) + " traces it already"));
  CHECK_FALSE(watch.tracer.is_traced(started.pid()));
  ::kill(other, SIGKILL);
  CHECK(watch.next().pid == other);
  started.close_input();
  CHECK(started.read_rest() == "done\n");
}

TEST_CASE("another tracer is refused without harm to a traced process") {
  Watch watch;
  Started started({.command = victim({"signals"})});
  REQUIRE(started.read_line() == "ready");
  REQUIRE(watch.tracer.seize(started.pid()).has_value());
  const std::string line =
      "strace -p " + std::to_string(started.pid()) + " </dev/null >/dev/null 2>&1";
  const pid_t strace = ::fork();
  if (strace == 0) {
    ::execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    ::_exit(127);
  }
  const TraceEvent refused = watch.next();
  REQUIRE(refused.pid == strace);
  if (WEXITSTATUS(refused.status) == 127) live::skip_program("needs strace");
  CHECK(refused.status != 0);
  started.close_input();
  const int status = watch.end_of(started);
  CHECK(started.read_rest() == "done\n");
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("a process that has ended, and one of another user, are told apart") {
  Watch watch;
  Started started({.command = victim({"signals"})});
  REQUIRE(started.read_line() == "ready");
  if (::geteuid() == 0) {
    const pid_t stranger = ::fork();
    if (stranger == 0) {
      if (::setresgid(1234, 1234, 1234) != 0 || ::setresuid(1234, 1234, 1234) != 0) ::_exit(9);
      const auto refused = Tracer().seize(started.pid());
      const bool fine = !refused && refused.error().kind == ErrorKind::permission &&
                        refused.error().message.find("runs as user 0") != std::string::npos;
      ::_exit(fine ? 0 : 1);
    }
    CHECK(watch.next().status == 0);
  }
  started.close_input();
  siginfo_t info = {};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(started.pid()), &info, WEXITED | WNOWAIT) == 0);
  const auto zombie = watch.tracer.seize(started.pid());
  REQUIRE_FALSE(zombie);
  CHECK(zombie.error().kind == ErrorKind::gone);
  CHECK(watch.next().pid == started.pid());
  const auto gone = watch.tracer.seize(started.pid());
  REQUIRE_FALSE(gone);
  CHECK(gone.error().kind == ErrorKind::gone);
  started.forget();
}

TEST_CASE("the end of the tracer lets its processes go on, even held ones") {
  Started running({.command = victim({"signals"})});
  Started held({.command = victim({"end", "pause"})});
  REQUIRE(running.read_line() == "ready");
  REQUIRE(held.read_line() == "ready");
  auto pipe = make_pipe();
  REQUIRE(pipe);
  const pid_t tracer_process = ::fork();
  if (tracer_process == 0) {
    Watch watch;
    bool done = watch.tracer.seize(running.pid()) && watch.tracer.seize(held.pid());
    static_cast<void>(!::write(pipe->second.get(), "x", 1));
    done = done && watch.next().kind == TraceEventKind::exiting;
    static_cast<void>(!::write(pipe->second.get(), done ? "y" : "n", 1));
    ::kill(::getpid(), SIGKILL);
  }
  char byte = 0;
  REQUIRE(::read(pipe->first.get(), &byte, 1) == 1);
  ::kill(held.pid(), SIGTERM);
  REQUIRE(::read(pipe->first.get(), &byte, 1) == 1);
  CHECK(byte == 'y');
  ::waitpid(tracer_process, nullptr, 0);
  CHECK(WTERMSIG(held.wait()) == SIGTERM);
  running.close_input();
  CHECK(running.read_rest() == "done\n");
}

TEST_CASE("children of the caller that are not traced are told with their status") {
  Watch watch;
  Started started({.command = {"sh", "-c", "exit 41"}});
  const TraceEvent ended = watch.next();
  CHECK(ended.kind == TraceEventKind::ended);
  CHECK(ended.pid == started.pid());
  CHECK(WEXITSTATUS(ended.status) == 41);
  started.forget();
}
