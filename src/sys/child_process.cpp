#include "cudart_doctor/sys/child_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include "cudart_doctor/sys/proc_root.hpp"

namespace cudart_doctor {

int milliseconds_until(SteadyTime end) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, INT_MAX));
}

Result<std::pair<UniqueFd, UniqueFd>> make_pipe() {
  std::array<int, 2> ends = {};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return tl::unexpected(system_error(errno, "pipe", Need::file_access));
  }
  return std::pair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

bool die_with_parent(pid_t parent) {
  // A parent that ended before prctl sends nothing: compare afterwards.
  return ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && ::getppid() == parent;
}

std::optional<int> wait_until(pid_t child, SteadyTime end) {
  // A child that closed its pipe needs some microseconds more to end: short pauses first.
  constexpr std::chrono::microseconds kLongest{5000};
  std::chrono::microseconds pause{20};
  while (true) {
    int status = 0;
    const pid_t ended = ::waitpid(child, &status, WNOHANG);
    if (ended == child) return status;
    // ECHILD: the caller ignores SIGCHLD, so the kernel took the status away.
    if (ended < 0 && errno != EINTR) return 0;
    const auto left =
        std::chrono::ceil<std::chrono::microseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return std::nullopt;
    ::usleep(static_cast<useconds_t>(std::min(left, pause).count()));
    pause = std::min(pause * 2, kLongest);
  }
}

std::optional<int> kill_and_wait(pid_t child) {
  constexpr std::chrono::seconds kPatience(2);
  ::kill(child, SIGKILL);
  return wait_until(child, std::chrono::steady_clock::now() + kPatience);
}

std::string describe_status(int status) {
  if (!WIFSIGNALED(status)) return "exit code " + std::to_string(WEXITSTATUS(status));
  const char* name = ::sigabbrev_np(WTERMSIG(status));
  return name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(WTERMSIG(status));
}

}  // namespace cudart_doctor
