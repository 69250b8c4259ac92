// Signals to the launcher reach the command once, whoever sent them. The launcher of these tests is
// a child that does what `run` does with signals and nothing else.
#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "cudart_doctor/sys/child_process.hpp"
#include "cudart_doctor/sys/signal_relay.hpp"
#include "cudart_doctor/sys/tracer.hpp"
#include "started.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;

namespace {

struct Pipes {
  UniqueFd in_read, in_write, out_read, out_write;
};

Pipes make_pipes() {
  auto in = make_pipe();
  auto out = make_pipe();
  REQUIRE(in);
  REQUIRE(out);
  return {std::move(in->first), std::move(in->second), std::move(out->first),
          std::move(out->second)};
}

enum class Tracing : std::uint8_t { none, followed };

/// The launcher: starts `words`, relays until it has ended; exits as it did.
[[noreturn]] void launch(const std::vector<std::string>& words, Tracing tracing = Tracing::none) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const StartState state = current_state();
  auto relay = SignalRelay::start();
  auto started =
      start_command({.command = words, .traced = tracing == Tracing::followed, .state = state});
  if (!relay || !started) ::_exit(100);
  Tracer tracer;
  if (started->traced) tracer.adopt(started->pid);
  while (true) {
    pollfd watched = {relay->descriptor(), POLLIN, 0};
    ::poll(&watched, 1, -1);
    relay->relay(*started);
    for (const TraceEvent& event : tracer.poll()) {
      if (event.kind == TraceEventKind::stopped) {
        if (event.pid == started->pid) relay->command_stopped(event.status);
        continue;
      }
      tracer.release(event.pid);
      if (event.kind != TraceEventKind::ended || event.pid != started->pid) continue;
      const int status = event.status;
      ::_exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
    }
  }
}

std::string read_line(int fd) {
  std::string line;
  char byte = 0;
  while (::read(fd, &byte, 1) == 1 && byte != '\n') {
    if (byte != '\r') line += byte;
  }
  return line;
}

/// All until the end; a pseudo terminal ends with EIO.
std::string read_rest(int fd) {
  std::string text;
  char byte = 0;
  while (::read(fd, &byte, 1) == 1) {
    if (byte != '\r') text += byte;
  }
  return text;
}

int end_of(pid_t pid) {
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

/// Until the launcher sleeps and no signal waits for it: it has passed on all that was sent.
void settle(pid_t launcher) {
  while (true) {
    std::ifstream file("/proc/" + std::to_string(launcher) + "/status");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (text.find("State:\tS") != std::string::npos &&
        text.find("ShdPnd:\t0000000000000000") != std::string::npos) {
      return;
    }
    ::sched_yield();
  }
}

/// A launcher of the counting victim with pipes.
struct Launched {
  explicit Launched(bool own_group = true, const std::vector<int>& ignored = {})
      : pipes(make_pipes()) {
    pid = ::fork();
    if (pid == 0) {
      pipes.in_write.reset();
      if (own_group) ::setpgid(0, 0);
      for (const int number : ignored) ::signal(number, SIG_IGN);
      ::dup2(pipes.in_read.get(), 0);
      ::dup2(pipes.out_write.get(), 1);
      launch(live::victim({"signals"}));
    }
    pipes.out_write.reset();
    pipes.in_read.reset();
    REQUIRE(read_line(pipes.out_read.get()) == "ready");
  }
  /// What the victim counted; call once the launcher has taken what was sent.
  std::string counted() {
    pipes.in_write.reset();
    std::string text = read_rest(pipes.out_read.get());
    end_of(pid);
    return text;
  }
  pid_t pid = 0;
  Pipes pipes;
};

std::string line_of(int number) { return std::to_string(number) + " 1\n"; }

}  // namespace

TEST_CASE("a signal to the launcher reaches the command exactly once") {
  const int number =
      GENERATE(SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGPWR, SIGWINCH, SIGIO,
               SIGVTALRM, SIGPROF, SIGXCPU, SIGXFSZ, SIGSTKFLT, SIGABRT, SIGSEGV, SIGTRAP, SIGSYS);
  Launched launched;
  ::kill(launched.pid, number);
  settle(launched.pid);
  CHECK(launched.counted() == line_of(number) + "done\n");
}

TEST_CASE("a queued real-time signal keeps its value") {
  Launched launched;
  sigval value = {};
  value.sival_int = 4711;
  ::sigqueue(launched.pid, SIGRTMIN + 2, value);
  settle(launched.pid);
  CHECK(launched.counted() == line_of(SIGRTMIN + 2) + "value 4711\ndone\n");
}

TEST_CASE("what was ignored at the start is ignored by launcher and command alike") {
  Launched launched(true, {SIGHUP});
  ::kill(launched.pid, SIGHUP);
  ::kill(launched.pid, SIGUSR1);
  settle(launched.pid);
  CHECK(launched.counted() == line_of(SIGUSR1) + "done\n");
}

TEST_CASE("what the command sends to its whole group is not sent back to it") {
  Pipes pipes = make_pipes();
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::setpgid(0, 0);
    ::dup2(pipes.out_write.get(), 1);
    // One sort of signal at a time is pending: count by writing in the trap.
    launch({"bash", "-c",
            "trap 'echo got' USR1; kill -USR1 0; kill -USR2 $PPID; "
            "trap 'echo end; exit 5' TERM; kill -TERM $$; sleep 1000"});
  }
  pipes.out_write.reset();
  CHECK(read_rest(pipes.out_read.get()) == "got\nend\n");
  CHECK(WEXITSTATUS(end_of(pid)) == 5);
}

TEST_CASE("requests for an end are told, others are not") {
  const pid_t pid = ::fork();
  if (pid == 0) {
    auto relay = SignalRelay::start();
    if (!relay) ::_exit(9);
    for (const int number : {SIGUSR1, SIGTERM, SIGWINCH}) ::kill(::getpid(), number);
    const RelayedSignals arrived = relay->relay({});
    ::_exit(arrived.end_requests == std::vector<int>{SIGTERM} && arrived.window_changed ? 0 : 1);
  }
  CHECK(end_of(pid) == 0);
}

TEST_CASE("the mask is as before when the relay is gone") {
  sigset_t before;
  sigset_t after;
  ::sigprocmask(SIG_BLOCK, nullptr, &before);
  {
    auto relay = SignalRelay::start();
    REQUIRE(relay);
    const SignalRelay moved = std::move(*relay);
    ::sigprocmask(SIG_BLOCK, nullptr, &after);
    CHECK(::sigismember(&after, SIGTERM) == 1);
  }
  ::sigprocmask(SIG_BLOCK, nullptr, &after);
  CHECK(::sigismember(&after, SIGTERM) == ::sigismember(&before, SIGTERM));
}

namespace {

/// A launcher in the foreground of a pseudo terminal, below a leader of the session that does what
/// a shell does: waits, and tells stops and ends on `told`.
struct OnTerminal {
  explicit OnTerminal(const std::vector<std::string>& words, Tracing tracing) {
    auto pipe = make_pipe();
    REQUIRE(pipe);
    int master = -1;
    leader = ::forkpty(&master, nullptr, nullptr, nullptr);
    if (leader == 0) {
      const pid_t child = ::fork();
      if (child == 0) {
        ::setpgid(0, 0);
        ::signal(SIGTTOU, SIG_IGN);
        ::tcsetpgrp(0, ::getpgrp());
        ::signal(SIGTTOU, SIG_DFL);
        launch(words, tracing);
      }
      tell(pipe->second.get(), "launcher", child);
      int status = 0;
      while (::waitpid(child, &status, WUNTRACED | WCONTINUED) == child) {
        if (WIFSTOPPED(status)) tell(pipe->second.get(), "stopped", WSTOPSIG(status));
        if (WIFCONTINUED(status)) tell(pipe->second.get(), "continued", 0);
        if (WIFEXITED(status)) tell(pipe->second.get(), "ended", WEXITSTATUS(status));
        if (WIFSTOPPED(status)) ::kill(-child, SIGCONT);  // `fg`
        if (!WIFSTOPPED(status) && !WIFCONTINUED(status)) break;
      }
      ::_exit(0);
    }
    pipe->second.reset();
    terminal = UniqueFd(master);
    told = std::move(pipe->first);
    launcher = std::stoi(read_line(told.get()).substr(9));
  }
  static void tell(int fd, const char* what, int number) {
    const std::string line = std::string(what) + " " + std::to_string(number) + "\n";
    if (::write(fd, line.data(), line.size()) < 0) ::_exit(1);
  }
  ~OnTerminal() {
    ::kill(leader, SIGKILL);
    end_of(leader);
  }
  OnTerminal(const OnTerminal&) = delete;
  OnTerminal& operator=(const OnTerminal&) = delete;

  void type(char byte) const { REQUIRE(::write(terminal.get(), &byte, 1) == 1); }
  /// Lines of the terminal until one is `text`.
  bool until(const std::string& text) const {
    while (true) {
      const std::string line = read_line(terminal.get());
      if (line.find(text) != std::string::npos) return true;
      if (line.empty()) return false;
    }
  }
  UniqueFd terminal;
  UniqueFd told;
  pid_t leader = 0;
  pid_t launcher = 0;
};

}  // namespace

TEST_CASE("Ctrl-C reaches the command exactly once") {
  const OnTerminal on(live::victim({"signals"}), GENERATE(Tracing::none, Tracing::followed));
  REQUIRE(on.until("ready"));
  on.type(3);
  settle(on.launcher);
  on.type(4);  // The end of the input.
  CHECK(on.until("2 1"));
  CHECK(on.until("done"));
  CHECK(read_line(on.told.get()) == "ended 0");
}

TEST_CASE("a change of the window's size reaches the command exactly once") {
  const OnTerminal on(live::victim({"signals"}), GENERATE(Tracing::none, Tracing::followed));
  REQUIRE(on.until("ready"));
  const winsize size = {.ws_row = 33, .ws_col = 44, .ws_xpixel = 0, .ws_ypixel = 0};
  REQUIRE(::ioctl(on.terminal.get(), TIOCSWINSZ, &size) == 0);
  settle(on.launcher);
  on.type(4);
  CHECK(on.until("28 1"));
  CHECK(on.until("done"));
}

TEST_CASE("Ctrl-Z stops launcher and command, and both go on together") {
  const OnTerminal on(live::victim({"signals"}), GENERATE(Tracing::none, Tracing::followed));
  REQUIRE(on.until("ready"));
  on.type(26);
  CHECK(read_line(on.told.get()) == "stopped 20");
  CHECK(read_line(on.told.get()) == "continued 0");
  on.type(4);
  CHECK(on.until("18 1"));
  CHECK(on.until("done"));
  CHECK(read_line(on.told.get()) == "ended 0");
}

TEST_CASE("a command that stops itself stops the launcher, and both go on together") {
  const int number = GENERATE(SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU);
  const std::string script = "kill -" + std::to_string(number) + " $$; echo again; read -r; exit 4";
  const OnTerminal on({"bash", "-c", script}, GENERATE(Tracing::none, Tracing::followed));
  CHECK(read_line(on.told.get()) == "stopped " + std::to_string(number));
  CHECK(read_line(on.told.get()) == "continued 0");
  CHECK(on.until("again"));
  on.type('\n');
  CHECK(read_line(on.told.get()) == "ended 4");
}

TEST_CASE("a request to stop that only the launcher gets stops both") {
  const OnTerminal on(live::victim({"signals"}), GENERATE(Tracing::none, Tracing::followed));
  REQUIRE(on.until("ready"));
  ::kill(on.launcher, SIGTSTP);
  CHECK(read_line(on.told.get()) == "stopped 20");
  CHECK(read_line(on.told.get()) == "continued 0");
  on.type(4);
  CHECK(on.until("18 1"));
  CHECK(on.until("done"));
}

TEST_CASE("SIGCONT to the launcher continues a command that was stopped alone") {
  Launched launched;
  const auto children = [&] {
    std::ifstream file("/proc/" + std::to_string(launched.pid) + "/task/" +
                       std::to_string(launched.pid) + "/children");
    pid_t child = 0;
    file >> child;
    return child;
  };
  const pid_t command = children();
  REQUIRE(command > 0);
  ::kill(command, SIGSTOP);
  for (std::string state; state.find("State:\tT") == std::string::npos; ::sched_yield()) {
    std::ifstream file("/proc/" + std::to_string(command) + "/status");
    state.assign(std::istreambuf_iterator<char>(file), {});
  }
  ::kill(launched.pid, SIGCONT);
  CHECK(launched.counted() == line_of(SIGCONT) + "done\n");
}

TEST_CASE("a terminal that hangs up ends the command of a launcher that leads the session") {
  Pipes pipes = make_pipes();
  int master = -1;
  const pid_t pid = ::forkpty(&master, nullptr, nullptr, nullptr);
  if (pid == 0) {
    ::dup2(pipes.out_write.get(), 1);
    launch({"bash", "-c", "trap 'echo hup; exit 6' HUP; echo ready; while :; do read -r x; done"});
  }
  pipes.out_write.reset();
  CHECK(read_line(pipes.out_read.get()) == "ready");
  ::close(master);
  CHECK(read_line(pipes.out_read.get()) == "hup");
  CHECK(WEXITSTATUS(end_of(pid)) == 6);
}

TEST_CASE("as the first process of a PID namespace the launcher relays too") {
  if (::geteuid() != 0) return;
  const pid_t outer = ::fork();
  if (outer == 0) {
    const Pipes pipes = make_pipes();
    if (::unshare(CLONE_NEWPID) != 0) ::_exit(77);
    const pid_t init = ::fork();
    if (init == 0) {
      ::dup2(pipes.in_read.get(), 0);
      ::dup2(pipes.out_write.get(), 1);
      // A signal just before `read` blocks is handled behind it: none may take for ever.
      launch({"bash", "-c", "trap 'exit 7' TERM; echo ready; while :; do read -r -t 1 x; done"});
    }
    if (read_line(pipes.out_read.get()) != "ready") ::_exit(1);
    ::kill(init, SIGTERM);
    ::_exit(WEXITSTATUS(end_of(init)));
  }
  CHECK(WEXITSTATUS(end_of(outer)) == 7);
}
