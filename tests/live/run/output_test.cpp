// What the command writes arrives whole, in its order, and as if nobody stood between. The doctor
// of these tests is a child that copies and does nothing else.
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <string>

#include "../live_support.hpp"
#include "cudart_doctor/sys/child_process.hpp"
#include "cudart_doctor/sys/output_watch.hpp"
#include "cudart_doctor/sys/signal_relay.hpp"
#include "started.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;
using live::Scratch;

namespace {

using Matches = std::function<bool(std::string_view)>;

constexpr int kMatched = 50;

/// Copies until the command has ended; exits as it did, or with kMatched.
[[noreturn]] void copy_output(const std::string& script, const Matches& matches) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const StartState state = current_state();
  ::signal(SIGPIPE, SIG_IGN);
  auto relay = SignalRelay::start();
  auto watch = OutputWatch::start(matches);
  if (!relay || !watch) ::_exit(100);
  const auto started = start_command({.command = {"bash", "-c", script},
                                      .out = watch->command_out(),
                                      .err = watch->command_err(),
                                      .state = state});
  if (!started) ::_exit(101);
  watch->close_command_ends();
  int status = 0;
  bool matched = false;
  while (::waitpid(started->pid, &status, WNOHANG) != started->pid) {
    std::vector<pollfd> watched = {{relay->descriptor(), POLLIN, 0}};
    for (const int fd : watch->descriptors()) watched.push_back({fd, POLLIN, 0});
    ::poll(watched.data(), watched.size(), -1);
    const RelayedSignals signals = relay->relay(*started);
    if (signals.window_changed && watch->copy_window_size()) ::kill(started->pid, SIGWINCH);
    matched = watch->pump() || matched;
  }
  watch->finish();
  matched = watch->pump() || matched;
  if (matched) ::_exit(kMatched);
  ::_exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

bool never(std::string_view) { return false; }

std::string read_all(int fd) {
  std::string text;
  char buffer[4096];
  while (true) {
    const ssize_t count = ::read(fd, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

int end_of(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// A doctor whose stdout and stderr are pipes.
struct Copied {
  explicit Copied(const std::string& script, const Matches& matches = never) {
    auto out_pipe = make_pipe();
    auto err_pipe = make_pipe();
    REQUIRE(out_pipe);
    REQUIRE(err_pipe);
    pid = ::fork();
    if (pid == 0) {
      ::dup2(out_pipe->second.get(), 1);
      ::dup2(err_pipe->second.get(), 2);
      for (UniqueFd* fd :
           {&out_pipe->first, &out_pipe->second, &err_pipe->first, &err_pipe->second}) {
        fd->reset();
      }
      copy_output(script, matches);
    }
    out = std::move(out_pipe->first);
    err = std::move(err_pipe->first);
  }
  UniqueFd out;
  UniqueFd err;
  pid_t pid = 0;
};

}  // namespace

TEST_CASE("every byte arrives, in its order, through a reader that is slow") {
  const Scratch scratch;
  const std::string copy = scratch.path("copy");
  const Copied copied("head -c 3000000 /dev/urandom | tee " + copy + "; exit 5");
  ::fcntl(copied.out.get(), F_SETPIPE_SZ, 4096);
  const std::string text = read_all(copied.out.get());
  CHECK(text.size() == 3000000);
  CHECK(text == live::read_text(copy));
  CHECK(end_of(copied.pid) == 5);
}

TEST_CASE("stdout and stderr go each to its own place") {
  const Copied copied("echo out; echo err >&2; printf unfinished");
  CHECK(read_all(copied.out.get()) == "out\nunfinished");
  CHECK(read_all(copied.err.get()) == "err\n");
  CHECK(end_of(copied.pid) == 0);
}

TEST_CASE("where both go to one place their order stays") {
  const Scratch scratch;
  std::string expected;
  for (int i = 0; i < 500; ++i) {
    expected += "out " + std::to_string(i) + "\nerr " + std::to_string(i) + "\n";
  }
  auto pipe = make_pipe();
  REQUIRE(pipe);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(pipe->second.get(), 1);
    ::dup2(pipe->second.get(), 2);
    pipe->second.reset();
    copy_output("for i in {0..499}; do echo out $i; echo err $i >&2; done", never);
  }
  pipe->second.reset();
  CHECK(read_all(pipe->first.get()) == expected);
  CHECK(end_of(pid) == 0);
}

TEST_CASE("a file gets the output behind what it holds") {
  const Scratch scratch;
  const std::string path = scratch.path("log");
  live::write_text(path, "before\n");
  const pid_t pid = ::fork();
  if (pid == 0) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    ::dup2(fd, 1);
    ::dup2(fd, 2);
    copy_output("echo one; echo two >&2", never);
  }
  CHECK(end_of(pid) == 0);
  CHECK(live::read_text(path) == "before\none\ntwo\n");
}

TEST_CASE("a reader that goes away gives the command SIGPIPE") {
  Copied copied("exec yes");
  char byte = 0;
  REQUIRE(::read(copied.out.get(), &byte, 1) == 1);
  copied.out.reset();
  CHECK(end_of(copied.pid) == 128 + SIGPIPE);
}

TEST_CASE("a reader that goes away is seen before the command writes") {
  const Scratch scratch;
  const std::string fifo = scratch.path("fifo");
  ::mkfifo(fifo.c_str(), 0600);
  Copied copied("echo go; read -r x <" + fifo + "; exec 2>/dev/null; echo lost; exit 6");
  char bytes[3] = {};
  REQUIRE(::read(copied.out.get(), bytes, 3) == 3);
  copied.out.reset();
  // Our end of the command's pipe is closed by the time that it is the doctor's turn again.
  const auto doctor_sleeps = [&] {
    return live::read_text("/proc/" + std::to_string(copied.pid) + "/status").find("State:\tS") !=
           std::string::npos;
  };
  while (!doctor_sleeps()) {
  }
  live::write_text(fifo, "x\n");
  CHECK(end_of(copied.pid) == 128 + SIGPIPE);
}

TEST_CASE("lines are found however they come") {
  struct Row {
    const char* script;
    const char* line;
    bool found;
  };
  const Row row = GENERATE(values<Row>({
      {"echo a; echo ready; echo b", "ready", true},
      {"printf re; printf 'ady\\n'", "ready", true},
      {"printf 'ready\\r\\n'", "ready", true},
      {"echo ready >&2", "ready", true},
      {"printf ready", "ready", true},
      {"printf re; printf ady >&2", "ready", false},
      {"echo 'ready or not'", "ready", false},
      {"echo", "", true},
      {"printf ''", "", false},
  }));
  INFO(row.script);
  const std::string wanted = row.line;
  const Copied copied(row.script, [&](std::string_view line) { return line == wanted; });
  CHECK(end_of(copied.pid) == (row.found ? kMatched : 0));
}

TEST_CASE("of a line that is too long the first 64 KiB count, and the next line is whole") {
  const auto size_is = [](std::size_t size) {
    return [size](std::string_view line) { return line.size() == size; };
  };
  const std::string script = "head -c 300000 /dev/zero | tr '\\0' x; echo; echo next";
  const Copied cut(script, size_is(65536));
  CHECK(read_all(cut.out.get()).size() == 300006);
  CHECK(end_of(cut.pid) == kMatched);
  const Copied next(script, [](std::string_view line) { return line == "next"; });
  CHECK(read_all(next.out.get()).size() == 300006);
  CHECK(end_of(next.pid) == kMatched);
}

TEST_CASE("who writes on behind the command is copied on, and not waited for") {
  const Scratch scratch;
  const std::string fifo = scratch.path("fifo");
  ::mkfifo(fifo.c_str(), 0600);
  const Copied copied("(read -r x <" + fifo + "; echo late) 2>/dev/null & echo early; exit 4");
  char bytes[7] = {};
  REQUIRE(::read(copied.out.get(), bytes, 6) == 6);
  CHECK(std::string(bytes) == "early\n");
  CHECK(end_of(copied.pid) == 4);
  // Nobody holds stderr any more, and its reader is told.
  CHECK(read_all(copied.err.get()).empty());
  live::write_text(fifo, "x\n");
  CHECK(read_all(copied.out.get()) == "late\n");
}

TEST_CASE("what a slow reader has not taken when the command ends is not lost") {
  // More than a pipe holds, less than two: the command ends, and somebody has to keep the rest.
  const Copied copied("head -c 100000 /dev/zero; exit 3");
  CHECK(end_of(copied.pid) == 3);
  CHECK(read_all(copied.out.get()).size() == 100000);
}

TEST_CASE("a terminal stays a terminal of the same size, and its line ends are made once") {
  int master = -1;
  winsize size = {.ws_row = 17, .ws_col = 71, .ws_xpixel = 0, .ws_ypixel = 0};
  const pid_t pid = ::forkpty(&master, nullptr, nullptr, &size);
  if (pid == 0) copy_output("exec " RUN_VICTIM " window", never);
  const UniqueFd terminal(master);
  std::string first;
  char byte = 0;
  while (byte != '\n' && ::read(master, &byte, 1) == 1) first += byte;
  CHECK(first == "17 71\r\n");
  size.ws_col = 99;
  REQUIRE(::ioctl(master, TIOCSWINSZ, &size) == 0);
  CHECK(read_all(master) == "17 99\r\n");
  CHECK(end_of(pid) == 9);
}

TEST_CASE("a reader that does not read does not hold the doctor") {
  auto pipe = make_pipe();
  REQUIRE(pipe);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(pipe->second.get(), 1);
    auto watch = OutputWatch::start(never);
    auto started = start_command({.command = {"yes"}, .out = watch->command_out()});
    if (!started) ::_exit(1);
    watch->close_command_ends();
    const auto ready = [](int fd, short what) {
      pollfd watched = {fd, what, 0};
      return ::poll(&watched, 1, 0) > 0;
    };
    // The pipe fills up; then nothing is ready, and nothing waits.
    while (ready(1, POLLOUT) || ready(watch->descriptors().front(), POLLIN)) watch->pump();
    std::string buffer(65536, '\0');
    const bool read = ::read(pipe->first.get(), buffer.data(), buffer.size()) > 0;
    pollfd watched = {watch->descriptors().front(), POLLIN, 0};
    ::_exit(read && ::poll(&watched, 1, 20000) > 0 ? 0 : 2);
  }
  CHECK(end_of(pid) == 0);
}
