// The supervised child: results, crashes, deadlines, and its end with its parent.
#include "cudart_doctor/sys/supervise.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

#include "support/catch.hpp"

using namespace cudart_doctor;
using std::chrono::milliseconds;

TEST_CASE("a child's output and code come back whole") {
  const std::string large(5u << 20, 'x');
  auto result = run_supervised({}, [&](Progress&) {
    WorkResult work;
    work.output = large;
    work.message = "a note";
    work.code = -3;
    return work;
  });
  REQUIRE(result);
  CHECK(result->output == large);
  CHECK(result->message == "a note");
  CHECK(result->code == -3);
}

TEST_CASE("a crash is an error that names the signal and the step") {
  auto result = run_supervised({}, [](Progress& progress) {
    progress.set("read mapped object", "/lib/a\nb.so");
    ::signal(SIGSEGV, SIG_DFL);
    ::raise(SIGSEGV);
    return WorkResult{};
  });
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == ErrorKind::io);
  CHECK_THAT(result.error().message, ContainsSubstring("SIGSEGV"));
  CHECK_THAT(result.error().message, ContainsSubstring("read mapped object /lib/a\\nb.so"));
}

TEST_CASE("an exception does not leave the child") {
  auto result = run_supervised({}, [](Progress&) -> WorkResult { throw std::runtime_error("no"); });
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == ErrorKind::io);
}

TEST_CASE("one step that takes too long ends the child before its deadline") {
  Supervisor supervisor;
  const auto begin = std::chrono::steady_clock::now();
  auto result = supervisor.run({milliseconds(60000), milliseconds(200)}, [](Progress& progress) {
    progress.set("open", "/first");
    progress.set("open", "/second");
    while (true) ::pause();
    return WorkResult{};
  });
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == ErrorKind::timeout);
  CHECK(supervisor.last_step().path == "/second");
  CHECK(std::chrono::steady_clock::now() - begin < milliseconds(30000));
}

TEST_CASE("of two threads the one that does not get on is named") {
  const bool helper_hangs = GENERATE(true, false);
  Supervisor supervisor;
  auto result = supervisor.run({milliseconds(60000), milliseconds(200)}, [&](Progress& progress) {
    Progress helper = progress.helper();
    Progress& stuck = helper_hangs ? helper : progress;
    Progress& moving = helper_hangs ? progress : helper;
    stuck.set("open", "/hangs");
    while (true) moving.set("open", "/answers");
    return WorkResult{};
  });
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == ErrorKind::timeout);
  CHECK(supervisor.last_step().path == "/hangs");
}

TEST_CASE("a thread that rests is not blamed for one that hangs") {
  Supervisor supervisor;
  auto result = supervisor.run({milliseconds(60000), milliseconds(200)}, [&](Progress& progress) {
    Progress helper = progress.helper();
    progress.set("open", "/answered");
    progress.set({}, {});
    helper.set("open", "/hangs");
    while (true) ::pause();
    return WorkResult{};
  });
  REQUIRE_FALSE(result);
  CHECK(supervisor.last_step().path == "/hangs");
}

TEST_CASE("a path longer than the shared page is cut, not written past its end") {
  Supervisor supervisor;
  const std::string path(100000, 'p');
  auto result = supervisor.run({}, [&](Progress& progress) {
    progress.set(std::string(1000, 's'), path);
    return WorkResult{};
  });
  REQUIRE(result);
  CHECK(supervisor.last_step().path == path.substr(0, 4096));
}

TEST_CASE("the child ends with its parent, whatever signal ends that") {
  const int number = GENERATE(SIGTERM, SIGINT, SIGKILL);
  int alive[2] = {};
  REQUIRE(::pipe(alive) == 0);
  const pid_t middle = ::fork();
  if (middle == 0) {
    ::signal(SIGTERM, SIG_DFL);
    ::signal(SIGINT, SIG_DFL);
    ::close(alive[0]);
    static_cast<void>(run_supervised({}, [&](Progress&) {
      static_cast<void>(::write(alive[1], "x", 1));
      while (true) ::pause();
      return WorkResult{};
    }));
    ::_exit(0);
  }
  ::close(alive[1]);
  char byte = 0;
  REQUIRE(::read(alive[0], &byte, 1) == 1);
  ::kill(middle, number);
  // The pipe closes only when its last holder, the grandchild, has ended too.
  CHECK(::read(alive[0], &byte, 1) == 0);
  ::close(alive[0]);
  ::waitpid(middle, nullptr, 0);
}
