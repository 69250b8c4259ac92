#include "child_stream.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace cudart_doctor {
namespace {

/// A pair of a machine's 56 pairs of devices and 20 candidates writes some 4 MiB.
constexpr std::uint64_t kMostFrameBytes = 32u << 20;

}  // namespace

void HeadAndTail::add(std::string_view bytes) {
  const std::size_t room = std::min(kPart - head_.size(), bytes.size());
  head_ += bytes.substr(0, room);
  tail_ += bytes.substr(room);
  if (tail_.size() > kPart) {
    left_out_ += tail_.size() - kPart;
    tail_.erase(0, tail_.size() - kPart);
  }
}

std::string HeadAndTail::text() const {
  if (left_out_ == 0) return head_ + tail_;
  return head_ + "\n[" + std::to_string(left_out_) + " bytes left out]\n" + tail_;
}

ChildStream::ChildStream(ProbeSide side, StartedChild child)
    : side_(side), child_(std::move(child)), quiet_since_(std::chrono::steady_clock::now()) {}

void ChildStream::read_frames(const std::function<bool(const Frame&)>& sink) {
  std::array<char, 64u << 10> buffer;
  while (fault_.empty() && !closed_at_) {
    const ssize_t count = ::read(child_.results.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;
    if (count == 0) {
      closed_at_ = std::chrono::steady_clock::now();
      child_.results.reset();
      return;
    }
    take_bytes({buffer.data(), static_cast<std::size_t>(count)}, sink);
  }
}

void ChildStream::take_bytes(std::string_view bytes,
                             const std::function<bool(const Frame&)>& sink) {
  bytes_ += bytes.size();
  if (bytes_ > kMostFrameBytes) {
    fault_ = "more records than a probe can have";
    return;
  }
  reader_.add(bytes);
  while (true) {
    auto frame = reader_.next();
    if (!frame) {
      fault_ = "malformed record: " + frame.error().message;
      return;
    }
    if (!*frame) return;
    quiet_since_ = std::chrono::steady_clock::now();
    if (!sink(**frame)) {
      fault_ = "malformed record: not of this order";
      return;
    }
  }
}

void ChildStream::read_output() {
  std::array<char, 64u << 10> buffer;
  // One buffer a call: a child that prints for ever must not keep us here.
  const ssize_t count = ::read(child_.output.get(), buffer.data(), buffer.size());
  if (count > 0) output_.add({buffer.data(), static_cast<std::size_t>(count)});
  if (count == 0) child_.output.reset();
}

bool ChildStream::look() {
  if (status_) return true;
  siginfo_t info = {};
  // Not reaped yet: its number, and so its group's, cannot be another's.
  if (::waitid(P_PID, static_cast<id_t>(child_.pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
      info.si_pid != child_.pid) {
    return false;
  }
  ::kill(-child_.pid, SIGKILL);
  int status = 0;
  ::waitpid(child_.pid, &status, 0);
  status_ = status;
  return true;
}

void ChildStream::kill() {
  if (status_) return;
  killed_ = true;
  ::kill(-child_.pid, SIGKILL);
  ::kill(child_.pid, SIGKILL);
}

bool ChildStream::reap(SteadyTime end) {
  if (!status_) status_ = wait_until(child_.pid, end);
  return status_.has_value();
}

}  // namespace cudart_doctor
