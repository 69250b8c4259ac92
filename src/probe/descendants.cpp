// Orphans by subreaper and mark; signals by handlers that only take note.
#include "descendants.hpp"

#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/formats/proc_text.hpp"

namespace cudart_doctor {

namespace {

constexpr std::array kEnding = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

/// The first signal that was held back; 0: none. A handler can reach nothing else.
volatile std::sig_atomic_t held_back = 0;

void hold_back(int signal) {
  if (held_back == 0) held_back = signal;
}

}  // namespace

std::string make_mark() {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) return {};
  return "CUDART_DOCTOR_PROBE=" + std::to_string(number);
}

Descendants::Descendants(const ProcDirectory& proc) : proc_(proc) {
  ::prctl(PR_GET_CHILD_SUBREAPER, &was_subreaper_, 0, 0, 0);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  // A caller that ignores SIGCHLD would lose how a child ended: the kernel reaps it then.
  struct sigaction usual = {};
  usual.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &usual, &child_signal_);
  held_back = 0;
  struct sigaction wait = {};
  wait.sa_handler = &hold_back;
  for (std::size_t i = 0; i < kEnding.size(); ++i) {
    ::sigaction(kEnding.at(i), nullptr, &ending_.at(i));
    // What the caller ignores (nohup) stays ignored.
    if (ending_.at(i).sa_handler != SIG_IGN) ::sigaction(kEnding.at(i), &wait, nullptr);
  }
  // A parent that dies has sent SIGKILL so far: it would leave us no time to end anything.
  ::prctl(PR_GET_PDEATHSIG, &parent_death_signal_, 0, 0, 0);
  if (parent_death_signal_ == SIGKILL) ::prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
  before_ = children();
}

bool Descendants::interrupted() { return held_back != 0; }

Descendants::~Descendants() {
  ::prctl(PR_SET_PDEATHSIG, parent_death_signal_, 0, 0, 0);
  for (std::size_t i = 0; i < kEnding.size(); ++i) {
    ::sigaction(kEnding.at(i), &ending_.at(i), nullptr);
  }
  ::sigaction(SIGCHLD, &child_signal_, nullptr);
  ::prctl(PR_SET_CHILD_SUBREAPER, static_cast<unsigned long>(was_subreaper_), 0, 0, 0);
  if (held_back != 0) ::raise(held_back);
}

std::set<std::int64_t> Descendants::children() const {
  std::set<std::int64_t> result;
  const auto add = [&result](std::string_view text) {
    for (const std::string_view word : split(text, ' ')) {
      const auto pid = parse_unsigned(trim(word), 10);
      if (pid && *pid <= INT32_MAX) result.insert(static_cast<std::int64_t>(*pid));
    }
  };
  // Only with CONFIG_PROC_CHILDREN; else every process is asked for its parent.
  const std::string own = std::to_string(::getpid());
  if (const auto text = proc_.read_file(own + "/task/" + own + "/children")) {
    add(*text);
    return result;
  }
  const auto pids = proc_.list_pids();
  if (!pids) return result;
  for (const std::int64_t pid : *pids) {
    const auto text = proc_.read_file(std::to_string(pid) + "/stat");
    const auto stat = text ? parse_stat(*text) : tl::unexpected(text.error());
    if (stat && stat->parent_pid == ::getpid()) result.insert(pid);
  }
  return result;
}

bool Descendants::kill_marked() const {
  constexpr std::uint64_t kMostEnvironment = 4u << 20;
  if (mark_.empty()) return false;
  bool any = false;
  for (const std::int64_t pid : proc_.list_pids().value_or(std::vector<std::int64_t>())) {
    // The descriptor first: what the environment is read of is then what gets the signal.
    const UniqueFd handle(static_cast<int>(::syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0)));
    if (!handle.valid()) continue;
    const auto text = proc_.read_file(std::to_string(pid) + "/environ", kMostEnvironment);
    if (!text || ('\0' + *text).find('\0' + mark_ + '\0') == std::string::npos) continue;
    any = true;
    ::syscall(SYS_pidfd_send_signal, handle.get(), SIGKILL, nullptr, 0);
  }
  return any;
}

bool Descendants::end_all(SteadyTime end) {
  constexpr useconds_t kPause = 1000;
  while (true) {
    bool any = kill_marked();
    for (const std::int64_t child : children()) {
      if (before_.contains(child)) continue;
      const auto pid = static_cast<pid_t>(child);
      any = true;
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, WNOHANG);
    }
    if (!any) return true;
    if (std::chrono::steady_clock::now() >= end) return false;
    ::usleep(kPause);
  }
}

}  // namespace cudart_doctor
