#include "started.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <cerrno>
#include <stdexcept>
#include <utility>

#include "cudart_doctor/sys/child_process.hpp"

namespace live {

using namespace cudart_doctor;

namespace {

/// Before any test blocks a signal.
const StartState kAtStart = current_state();

}  // namespace

Started::Started(CommandOptions options) {
  auto in = make_pipe();
  auto out = make_pipe();
  if (!in || !out) throw std::runtime_error("pipe");
  options.out = out->second.get();
  if (!options.state) options.state = kAtStart;
  // A command has no descriptor option for stdin: it gets that of the caller.
  const UniqueFd own(::fcntl(0, F_DUPFD_CLOEXEC, 10));
  ::dup2(in->first.get(), 0);
  auto started = start_command(options);
  ::dup2(own.get(), 0);
  if (!started) throw std::runtime_error(started.error().error.message);
  command_ = std::move(*started);
  input_ = std::move(in->second);
  output_ = std::move(out->first);
}

Started::~Started() {
  const pid_t pid = command_.pid;
  if (pid == 0) return;
  ::kill(pid, SIGKILL);
  // A test that failed may have left it in a stop that was seen already, or leave it in the next.
  ::ptrace(PTRACE_DETACH, pid, 0L, 0L);
  int status = 0;
  while (true) {
    const pid_t seen = ::waitpid(pid, &status, __WALL);
    if (seen < 0 && errno == EINTR) continue;
    if (seen != pid || !WIFSTOPPED(status)) return;
    ::ptrace(PTRACE_DETACH, pid, 0L, 0L);
  }
}

std::string Started::read_line() {
  std::string line;
  char byte = 0;
  while (::read(output_.get(), &byte, 1) == 1 && byte != '\n') line += byte;
  return line;
}

std::string Started::read_rest() {
  std::string text;
  char byte = 0;
  while (::read(output_.get(), &byte, 1) == 1) text += byte;
  return text;
}

int Started::wait() {
  int status = 0;
  while (::waitpid(command_.pid, &status, 0) < 0 && errno == EINTR) {
  }
  command_.pid = 0;
  return status;
}

std::vector<std::string> victim(std::vector<std::string> words) {
  words.insert(words.begin(), RUN_VICTIM);
  return words;
}

std::string output_of(const CommandOptions& options) {
  Started started(options);
  if (options.traced) {
    // It waits behind its exec for whoever traces it.
    ::waitpid(started.pid(), nullptr, __WALL);
    ::ptrace(PTRACE_DETACH, started.pid(), 0L, 0L);
  }
  started.close_input();
  std::string text = started.read_rest();
  started.wait();
  return text;
}

}  // namespace live
