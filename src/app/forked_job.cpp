#include "cudart_doctor/app/forked_job.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <exception>
#include <memory>

#include "cudart_doctor/sys/output_file.hpp"
#include "cudart_doctor/sys/proc_root.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30U;

/// The launcher's socket in a job would keep processes waiting for an answer that nobody gives.
void close_all_but(int one, int other) {
  const auto close_between = [](int first, unsigned last) {
    if (unsigned(first) <= last) ::syscall(SYS_close_range, unsigned(first), last, 0U);
  };
  const auto [low, high] = std::minmax(one, other);
  int next = STDERR_FILENO + 1;
  for (const int kept : {low, high}) {
    if (kept < next) continue;
    close_between(next, unsigned(kept) - 1);
    next = kept + 1;
  }
  close_between(next, UINT_MAX);
}

[[noreturn]] void work_in_child(int pipe, const std::function<std::string()>& work) {
  constexpr int kFailed = 70;
  try {
    ::_exit(write_all(pipe, work()) ? 0 : kFailed);
  } catch (const std::exception&) {
    ::_exit(kFailed);
  }
}

}  // namespace

Result<ForkedJob> ForkedJob::start(const std::function<std::string()>& work, SteadyTime end,
                                   int kept) {
  auto pipe = make_pipe();
  if (!pipe) return tl::unexpected(pipe.error());
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return tl::unexpected(system_error(errno, "fork", Need::file_access));
  if (child == 0) {
    if (!die_with_parent(parent)) ::_exit(1);
    close_all_but(pipe->second.get(), kept);
    work_in_child(pipe->second.get(), work);
  }
  ::fcntl(pipe->first.get(), F_SETFL, O_NONBLOCK);
  ForkedJob job;
  job.pid_ = child;
  job.pipe_ = std::move(pipe->first);
  job.end_ = end;
  return job;
}

bool ForkedJob::pump() {
  // Not on the stack, which may be small.
  const auto buffer = std::make_unique_for_overwrite<std::array<char, 65536>>();
  while (pipe_.valid()) {
    const ssize_t count = ::read(pipe_.get(), buffer->data(), buffer->size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return false;
    if (count <= 0) break;
    bytes_.append(buffer->data(), static_cast<std::size_t>(count));
    if (bytes_.size() > kMostBytes) {
      kill();
      bytes_.clear();
      break;
    }
  }
  pipe_.reset();
  return true;
}

void ForkedJob::kill() { ::kill(pid_, SIGKILL); }

}  // namespace cudart_doctor
