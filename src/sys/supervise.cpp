#include "cudart_doctor/sys/supervise.hpp"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/sys/child_process.hpp"
#include "cudart_doctor/sys/output_file.hpp"
#include "cudart_doctor/sys/proc_root.hpp"
#include "cudart_doctor/sys/unique_fd.hpp"
#include "shared_steps.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kMaxOutput = 1u << 30;
constexpr int kLookEveryMs = 200;

std::string shown(const WorkStep& step) {
  return escape_foreign(step.stage) + (step.path.empty() ? "" : " " + escape_foreign(step.path));
}

/// Every step that the child is at: which thread made it crash is not known.
std::string all_steps(const SharedSteps& shared) {
  std::string text;
  for (const SharedStep& slot : shared) {
    const WorkStep step = read_step(slot);
    if (!step.stage.empty()) text += (text.empty() ? "" : ", ") + shown(step);
  }
  return text.empty() ? "its start" : text;
}

/// Sees for how long each thread has been at its step.
class StepWatch {
 public:
  explicit StepWatch(const SharedSteps& shared) : shared_(shared) {}

  /// Looks at the sequences again.
  void look(SteadyTime now) {
    for (std::size_t i = 0; i < shared_.size(); ++i) {
      const auto sequence = shared_[i].sequence.load(std::memory_order_acquire);
      if (seen_[i].sequence == sequence) continue;
      seen_[i] = {sequence, now};
    }
  }
  /// Every step counts from `now`.
  void restart(SteadyTime now) {
    for (Seen& seen : seen_) seen.began = now;
  }
  /// When the oldest step began; a thread that rests is at none.
  [[nodiscard]] SteadyTime began() const { return seen_[oldest()].began; }
  [[nodiscard]] WorkStep step() const { return read_step(shared_[oldest()]); }

 private:
  struct Seen {
    std::uint32_t sequence = 0;
    SteadyTime began = std::chrono::steady_clock::now();
  };

  [[nodiscard]] std::size_t oldest() const {
    const bool helps = !read_step(shared_[1]).stage.empty();
    const bool first_rests = seen_[0].sequence != 0 && read_step(shared_[0]).stage.empty();
    return helps && (first_rests || seen_[1].began < seen_[0].began) ? 1 : 0;
  }

  const SharedSteps& shared_;
  std::array<Seen, 2> seen_;
};

/// The texts of a result, in the order in which they are sent.
constexpr std::array kTexts = {&WorkResult::output, &WorkResult::message, &WorkResult::note,
                               &WorkResult::news, &WorkResult::annotations};

/// Sent first; the texts follow.
struct Header {
  std::array<std::uint64_t, kTexts.size()> sizes{};
  std::int64_t code = 0;
};

/// The child: never returns, never runs the parent's destructors or buffered output.
[[noreturn]] void work_in_child(int pipe, void* page,
                                const std::function<WorkResult(Progress&)>& work) {
  constexpr int kFailed = 70;
  limit_worker();
  ::signal(SIGPIPE, SIG_IGN);
  try {
    Progress progress(page);
    const WorkResult result = work(progress);
    Header header{.code = result.code};
    for (std::size_t i = 0; i < kTexts.size(); ++i) header.sizes[i] = (result.*kTexts[i]).size();
    std::array<char, sizeof header> bytes;
    std::memcpy(bytes.data(), &header, sizeof header);
    bool sent = write_all(pipe, {bytes.data(), bytes.size()}).has_value();
    for (const auto text : kTexts) sent = sent && write_all(pipe, result.*text);
    ::_exit(sent ? 0 : kFailed);
  } catch (...) {
    ::_exit(kFailed);
  }
}

struct Reading {
  std::string bytes;
  bool ended = false;  ///< The pipe was closed.
  bool too_much = false;
};

/// Reads the child's pipe until it closes, the deadline passes or one step takes too long.
Reading read_until(int pipe, StepWatch& watch, const SuperviseOptions& options) {
  using std::chrono::steady_clock;
  Reading reading;
  const SteadyTime end = steady_clock::now() + options.deadline;
  // Not on the stack, which may be small.
  const auto buffer = std::make_unique_for_overwrite<std::array<char, 65536>>();
  while (true) {
    watch.look(steady_clock::now());
    const bool by_step = options.step_limit.count() > 0;
    const SteadyTime limit = by_step ? std::min(end, watch.began() + options.step_limit) : end;
    int left = milliseconds_until(limit);
    if (left == 0) return reading;
    // A step's begin is known as well as it is looked for: without a look in between, one that
    // hangs would seem to begin at the end of the first wait.
    if (by_step) left = std::min(left, kLookEveryMs);
    pollfd watched = {pipe, POLLIN, 0};
    if (::poll(&watched, 1, left) <= 0) continue;
    const ssize_t count = ::read(pipe, buffer->data(), buffer->size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (count <= 0) {
      reading.ended = true;
      return reading;
    }
    // Output is progress too: the step counts from here.
    watch.restart(steady_clock::now());
    reading.bytes.append(buffer->data(), static_cast<std::size_t>(count));
    reading.too_much = reading.bytes.size() > kMaxOutput;
    if (reading.too_much) return reading;
  }
}

Result<WorkResult> take_result(const Reading& reading, int status, const std::string& step) {
  Header header;
  if (status != 0 || reading.bytes.size() < sizeof header) {
    return fail(ErrorKind::io, "the inspection itself failed with " + describe_status(status) +
                                   " during: " + step);
  }
  std::memcpy(&header, reading.bytes.data(), sizeof header);
  WorkResult result;
  result.code = static_cast<int>(header.code);
  std::size_t at = sizeof header;
  for (std::size_t i = 0; i < kTexts.size(); ++i) {
    const std::uint64_t size = header.sizes[i];
    if (size > reading.bytes.size() - at) {
      return fail(ErrorKind::io, "the inspection's result ends early");
    }
    result.*kTexts[i] = reading.bytes.substr(at, size);
    at += size;
  }
  return result;
}

}  // namespace

void give_up_standard_error() { ::dup2(STDOUT_FILENO, STDERR_FILENO); }

Result<WorkResult> Supervisor::run(const SuperviseOptions& options,
                                   const std::function<WorkResult(Progress&)>& work) {
  last_step_ = {};
  auto page = make_page();
  if (!page) return tl::unexpected(page.error());
  auto pipe = make_pipe();
  if (!pipe) return tl::unexpected(pipe.error());
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return tl::unexpected(system_error(errno, "fork", Need::file_access));
  if (child == 0) {
    pipe->first.reset();
    if (!die_with_parent(parent)) ::_exit(1);
    work_in_child(pipe->second.get(), page->get(), work);
  }
  pipe->second.reset();
  const auto& shared = *static_cast<const SharedSteps*>(page->get());
  StepWatch watch(shared);
  const Reading reading = read_until(pipe->first.get(), watch, options);
  last_step_ = watch.step();
  const auto status =
      reading.ended ? wait_until(child, std::chrono::steady_clock::now() + std::chrono::seconds(2))
                    : kill_and_wait(child);
  if (reading.too_much) return fail(ErrorKind::limit, "the inspection's result is too large");
  if (reading.ended && status) return take_result(reading, *status, all_steps(shared));
  std::string message = "no answer within the deadline during: " +
                        (last_step_.stage.empty() ? "its start" : shown(last_step_));
  if (!status) {
    message += "; the inspecting child (PID " + std::to_string(child) +
               ") is in uninterruptible sleep and was left behind";
  }
  return fail(ErrorKind::timeout, std::move(message));
}

Result<WorkResult> run_supervised(const SuperviseOptions& options,
                                  const std::function<WorkResult(Progress&)>& work) {
  return Supervisor().run(options, work);
}

Result<std::string> run_within(std::chrono::milliseconds limit, std::string_view step,
                               const std::function<Result<std::string>()>& work) {
  constexpr int kDone = -1;  // No ErrorKind.
  auto result = run_supervised({.deadline = limit}, [&](Progress& progress) {
    give_up_standard_error();
    progress.set(step, {});
    Result<std::string> done = work();
    WorkResult answer;
    answer.code = done ? kDone : static_cast<int>(done.error().kind);
    if (done) {
      answer.output = std::move(*done);
    } else {
      answer.message = done.error().message;
    }
    return answer;
  });
  if (!result && result.error().kind == ErrorKind::timeout) return tl::unexpected(result.error());
  if (!result) return work();
  if (result->code == kDone) return std::move(result->output);
  return fail(static_cast<ErrorKind>(result->code), result->message);
}

}  // namespace cudart_doctor
