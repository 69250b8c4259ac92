// The command of `run` starts as it would without the doctor. The oracle is a child of fork and
// exec that nobody else touched.
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "../live_support.hpp"
#include "cudart_doctor/formats/recorder_environment.hpp"
#include "cudart_doctor/sys/child_process.hpp"
#include "cudart_doctor/sys/command_child.hpp"
#include "cudart_doctor/sys/signal_relay.hpp"
#include "started.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using live::output_of;
using live::Scratch;
using live::Started;
using live::victim;

namespace {

/// What `words` prints when it is started by fork and exec alone.
std::string output_of_plain(std::vector<std::string> words) {
  auto pipe = make_pipe();
  REQUIRE(pipe);
  const UniqueFd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const pid_t child = ::fork();
  if (child == 0) {
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::dup2(nothing.get(), 0);
    ::dup2(pipe->second.get(), 1);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  pipe->second.reset();
  std::string text;
  char byte = 0;
  while (::read(pipe->first.get(), &byte, 1) == 1) text += byte;
  ::waitpid(child, nullptr, 0);
  return text;
}

std::string without(std::string text, const std::string& part) {
  const auto at = text.find(part);
  return at == std::string::npos ? text : text.erase(at, part.size());
}

std::string script(const Scratch& scratch, const char* name, const char* text) {
  live::write_text(scratch.path(name), text);
  ::chmod(scratch.path(name).c_str(), 0755);
  return scratch.path(name);
}

int status_of(const CommandOptions& options) {
  Started started(options);
  started.close_input();
  return started.wait();
}

StartFailure failure_of(const std::string& name) {
  auto started = start_command({.command = {name}});
  REQUIRE_FALSE(started);
  return started.error();
}

/// PATH for the time of a test.
class Path {
 public:
  explicit Path(const std::string& value) : before_(std::getenv("PATH")) {
    ::setenv("PATH", value.c_str(), 1);
  }
  ~Path() { ::setenv("PATH", before_.c_str(), 1); }
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;

 private:
  std::string before_;
};

}  // namespace

TEST_CASE("a command inherits what the doctor inherited, not what the doctor changed") {
  const bool traced = GENERATE(false, true);
  sigset_t blocked;
  sigset_t before;
  ::sigemptyset(&blocked);
  ::sigaddset(&blocked, SIGUSR2);
  ::sigaddset(&blocked, SIGRTMIN + 3);
  ::sigprocmask(SIG_BLOCK, &blocked, &before);
  ::signal(SIGHUP, SIG_IGN);
  ::signal(SIGCHLD, SIG_IGN);
  const std::string plain = output_of_plain(victim({"state"}));
  const StartState state = current_state();
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  {
    const auto relay = SignalRelay::start();
    REQUIRE(relay);
    const std::string started =
        output_of({.command = victim({"state"}), .traced = traced, .state = state});
    CHECK_THAT(started, ContainsSubstring("pdeathsig 9\n"));
    CHECK_THAT(plain, ContainsSubstring("ignored 1\nblocked 12\n"));
    CHECK(without(started, "pdeathsig 9\n") == without(plain, "pdeathsig 0\n"));
  }
  for (const int number : {SIGHUP, SIGCHLD, SIGPIPE, SIGXFSZ}) ::signal(number, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
}

TEST_CASE("a descriptor that the caller had closed is closed in the command") {
  StartState state = current_state();
  state.closed[0] = true;
  const std::string text = output_of({.command = victim({"state"}), .state = state});
  CHECK_THAT(text, !ContainsSubstring("open 0\n"));
  CHECK_THAT(text, ContainsSubstring("open 1\n"));
}

TEST_CASE("a stdout that the caller had closed is closed although somebody would read it") {
  StartState state = current_state();
  state.closed[1] = true;
  auto pipe = make_pipe();
  REQUIRE(pipe);
  auto started = start_command({.command = {"sh", "-c", "test ! -e /proc/$$/fd/1"},
                                .out = pipe->second.get(),
                                .state = state});
  REQUIRE(started);
  int status = 0;
  ::waitpid(started->pid, &status, 0);
  CHECK(status == 0);
}

TEST_CASE("stdout and stderr may change places") {
  auto pipe = make_pipe();
  REQUIRE(pipe);
  const UniqueFd out(::dup(1));
  const UniqueFd err(::dup(2));
  ::dup2(pipe->second.get(), 2);
  auto started =
      start_command({.command = {"sh", "-c", "echo out; echo err >&2"}, .out = 2, .err = 1});
  ::dup2(err.get(), 2);
  pipe->second.reset();
  REQUIRE(started);
  char text[16] = {};
  CHECK(::read(pipe->first.get(), text, sizeof text) == 4);
  CHECK(std::string(text) == "out\n");
  ::waitpid(started->pid, nullptr, 0);
}

TEST_CASE("the audit library is put behind the caller's own, and nothing else is changed") {
  ::unsetenv("GLIBC_TUNABLES");
  const auto expect = [](const char* own, const std::string& line) {
    if (own == nullptr) {
      ::unsetenv("LD_AUDIT");
    } else {
      ::setenv("LD_AUDIT", own, 1);
    }
    // env prints what it got, in its order; a library that is not there is passed over.
    const std::string with =
        output_of({.command = victim({"environment"}), .audit_library = "/no/such.so"});
    const std::string plain = output_of_plain(victim({"environment"}));
    CHECK_THAT(with, ContainsSubstring(line + "\n"));
    const std::string own_line = own == nullptr ? "" : "LD_AUDIT=" + std::string(own) + "\n";
    CHECK(without(with, line + "\n") == without(plain, own_line));
  };
  expect(nullptr, "LD_AUDIT=/no/such.so");
  expect("", "LD_AUDIT=/no/such.so");
  expect("/a.so:/b.so", "LD_AUDIT=/a.so:/b.so:/no/such.so");
  ::unsetenv("LD_AUDIT");
  CHECK(output_of({.command = victim({"environment"})}) ==
        output_of_plain(victim({"environment"})));
}

TEST_CASE("a command that is not there is 127, one that cannot run 126, as in a shell") {
  Scratch scratch;
  live::write_text(scratch.path("plain"), "not executable");
  ::chmod(scratch.path("plain").c_str(), 0644);
  script(scratch, "lost", "#!/no/such/interpreter\n");
  const auto expect = [](const std::string& name, int code, const std::string& part) {
    INFO(name);
    const StartFailure failure = failure_of(name);
    CHECK(failure.exit_code == code);
    CHECK_THAT(failure.error.message, ContainsSubstring(part));
    const int shell = std::system(("bash -c \"'" + name + "'\" 2>/dev/null").c_str());
    CHECK(WEXITSTATUS(shell) == code);
  };
  expect("no-such-command-here", 127, "not found in PATH");
  expect(scratch.path("nothing"), 127, "no such file");
  expect("", 127, "not found");
  expect(scratch.path("plain"), 126, "may not be executed");
  expect(scratch.path(""), 126, "a folder");
  expect(scratch.path("plain") + "/below", 126, "Not a directory");
  expect(scratch.path("lost"), 127, "interpreter");
}

TEST_CASE("the name of a command is escaped in the message") {
  CHECK_THAT(failure_of("a\nb").error.message, ContainsSubstring("a\\nb"));
}

TEST_CASE("PATH is searched as execvp does it") {
  Scratch scratch;
  ::mkdir(scratch.path("a").c_str(), 0755);
  ::mkdir(scratch.path("b").c_str(), 0755);
  ::mkdir(scratch.path("a/folder").c_str(), 0755);
  live::write_text(scratch.path("a/refused"), "x");
  ::chmod(scratch.path("a/refused").c_str(), 0644);
  const std::string found = script(scratch, "b/refused", "exit 9\n");
  const std::string folder = script(scratch, "b/folder", "exit 8\n");
  const Path path(scratch.path("none") + ":" + scratch.path("a") + ":" + scratch.path("b") +
                  ":/bin");
  CHECK(find_command("refused") == found);
  CHECK(find_command("folder") == folder);
  CHECK(find_command("missing") == std::nullopt);
  // A text without "#!" is run by the shell; and it is the file that was named above.
  CHECK(WEXITSTATUS(status_of({.command = {"refused"}})) == 9);
  CHECK(WEXITSTATUS(status_of({.command = {"folder"}})) == 8);
}

TEST_CASE("an empty part of PATH is the working folder") {
  Scratch scratch;
  script(scratch, "here", "exit 7\n");
  char before[4096];
  REQUIRE(::getcwd(before, sizeof before) != nullptr);
  REQUIRE(::chdir(scratch.path("").c_str()) == 0);
  {
    const Path path("/no/such:");
    CHECK(find_command("here") == "./here");
    CHECK(WEXITSTATUS(status_of({.command = {"here"}})) == 7);
  }
  REQUIRE(::chdir(before) == 0);
}

TEST_CASE("a command ends with the doctor, whatever ends that") {
  auto pipe = make_pipe();
  REQUIRE(pipe);
  const pid_t doctor = ::fork();
  if (doctor == 0) {
    auto started = start_command({.command = {"sleep", "1000"}, .out = pipe->second.get()});
    if (started) ::kill(::getpid(), SIGKILL);
    ::_exit(1);
  }
  pipe->second.reset();
  // The pipe ends only when its last holder, the command, has ended.
  char byte = 0;
  CHECK(::read(pipe->first.get(), &byte, 1) == 0);
  int status = 0;
  ::waitpid(doctor, &status, 0);
  CHECK(WIFSIGNALED(status));
}

TEST_CASE("a traced command that cannot be executed leaves nothing behind") {
  auto started = start_command({.command = {"/no/such/command"}, .traced = true});
  REQUIRE_FALSE(started);
  CHECK(started.error().exit_code == 127);
  CHECK(::waitpid(-1, nullptr, __WALL | WNOHANG) < 0);
  CHECK(errno == ECHILD);
}

TEST_CASE("a traced command is traced before its first instruction") {
  auto started = start_command({.command = victim({"environment"}), .out = 2, .traced = true});
  REQUIRE(started);
  CHECK(started->traced);
  CHECK_FALSE(started->trace_refused);
  int status = 0;
  REQUIRE(::waitpid(started->pid, &status, __WALL) == started->pid);
  CHECK(WIFSTOPPED(status));
  ::kill(started->pid, SIGKILL);
  while (::waitpid(started->pid, &status, __WALL) == started->pid && WIFSTOPPED(status)) {
    ::ptrace(PTRACE_CONT, started->pid, 0L, 0L);
  }
  CHECK(WIFSIGNALED(status));
}
