#include "descendants.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/formats/proc_text.hpp"

namespace cudart_doctor {

Descendants::Descendants(const ProcDirectory& proc) : proc_(proc) {
  ::prctl(PR_GET_CHILD_SUBREAPER, &was_subreaper_, 0, 0, 0);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  // A caller that ignores SIGCHLD would lose how a child ended: the kernel reaps it then.
  struct sigaction usual = {};
  usual.sa_handler = SIG_DFL;
  ::sigaction(SIGCHLD, &usual, &child_signal_);
  before_ = children();
}

Descendants::~Descendants() {
  ::sigaction(SIGCHLD, &child_signal_, nullptr);
  ::prctl(PR_SET_CHILD_SUBREAPER, static_cast<unsigned long>(was_subreaper_), 0, 0, 0);
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

void Descendants::end_all(SteadyTime end) {
  constexpr useconds_t kPause = 1000;
  while (true) {
    bool any = false;
    for (const std::int64_t child : children()) {
      if (before_.contains(child)) continue;
      const auto pid = static_cast<pid_t>(child);
      any = true;
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, WNOHANG);
    }
    if (!any || std::chrono::steady_clock::now() >= end) return;
    ::usleep(kPause);
  }
}

}  // namespace cudart_doctor
