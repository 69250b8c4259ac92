#include "cudart_doctor/app/launch_exit.hpp"

#include <sys/wait.h>

namespace cudart_doctor {
namespace {

constexpr int kSignalBase = 128;

int code_of(int wait_status) {
  return WIFSIGNALED(wait_status) ? kSignalBase + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

}  // namespace

int launch_exit_code(const LaunchEnd& end, const LaunchRequest& launch) {
  const int verdict = exit_code_of(end.verdict, ExitStyle::standard);
  if (end.gated) return exit_code_of(RunEnd::findings, ExitStyle::standard);
  if (end.stopped) return verdict;
  const int own = code_of(end.wait_status);
  const bool was_to_be_stopped = end.never_ready && launch.then == AfterReady::stop;
  if (!launch.judge_exit && !was_to_be_stopped) return own;
  if (launch.judge_exit && end.verdict == RunEnd::findings) return verdict;
  return own != 0 ? own : verdict;
}

}  // namespace cudart_doctor
