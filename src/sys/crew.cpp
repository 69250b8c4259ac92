#include "cudart_doctor/sys/crew.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/sys/output_file.hpp"
#include "cudart_doctor/sys/proc_root.hpp"
#include "shared_steps.hpp"

namespace cudart_doctor {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kMostBytes = std::size_t{64} << 20U;
constexpr std::uint64_t kNone = UINT64_MAX;

/// What stands before an answer in a worker's pipe.
struct FrameHead {
  std::uint64_t task = 0;
  std::uint64_t size = 0;
};

/// Shared by all workers and the caller: which task is the next one.
struct Counter {
  std::atomic<std::uint64_t> next{0};
};
/// Shared by one worker and the caller.
struct Place {
  std::atomic<std::uint64_t> task{kNone};
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

template <typename T>
struct UnmapValue {
  void operator()(T* value) const { ::munmap(value, sizeof(T)); }
};
template <typename T>
using Shared = std::unique_ptr<T, UnmapValue<T>>;

template <typename T>
Result<Shared<T>> make_shared_value() {
  void* const page =
      ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) {
    return tl::unexpected(system_error(errno, "shared page", Need::file_access));
  }
  return Shared<T>(new (page) T);
}

bool send(int pipe, std::uint64_t task, const std::string& answer) {
  const FrameHead head{task, answer.size()};
  std::array<char, sizeof head> bytes;
  std::memcpy(bytes.data(), &head, sizeof head);
  return write_all(pipe, {bytes.data(), bytes.size()}) && write_all(pipe, answer);
}

struct WorkerSide {
  int pipe = -1;
  void* steps = nullptr;
  Counter* counter = nullptr;
  Place* place = nullptr;
};

[[noreturn]] void work_in_child(const WorkerSide& side, std::size_t tasks, const CrewCalls& calls) {
  constexpr int kFailed = 70;
  limit_worker();
  ::dup2(STDOUT_FILENO, STDERR_FILENO);  // To nowhere, for the same reason.
  ::signal(SIGPIPE, SIG_IGN);
  try {
    Progress progress(side.steps);
    while (true) {
      const std::uint64_t task = side.counter->next.fetch_add(1);
      if (task >= tasks) ::_exit(0);
      progress.set("begin", {});
      side.place->task.store(task);
      if (!send(side.pipe, task, calls.work(task, progress))) ::_exit(kFailed);
    }
  } catch (...) {
    ::_exit(kFailed);
  }
}

struct Worker {
  pid_t pid = -1;
  UniqueFd pipe;
  SharedPage steps;
  Shared<Place> place;
  std::string bytes;         ///< Read, and no whole frame yet.
  std::uint64_t at = kNone;  ///< The task when it was looked at last.
  SteadyTime began{};        ///< When that was first seen.
  bool ended = false;        ///< Its pipe is closed.
  bool too_much = false;
};

class Crew {
 public:
  Crew(const CrewLimits& limits, std::size_t tasks, const CrewCalls& calls, Shared<Counter> counter)
      : limits_(limits), calls_(calls), counter_(std::move(counter)), settled_(tasks) {}

  Result<void> run() {
    while (workers_.size() < std::min<std::size_t>(limits_.workers, settled_.size())) {
      auto worker = start();
      // One worker does them all too.
      if (!worker && workers_.empty()) return tl::unexpected(worker.error());
      if (!worker) break;
      workers_.push_back(std::move(*worker));
    }
    while (!workers_.empty() && steady_clock::now() < limits_.end) turn();
    for (Worker& worker : workers_) kill(worker, "the deadline of all came");
    lose_rest();
    return {};
  }

 private:
  Result<Worker> start() {
    auto pipe = make_pipe();
    if (!pipe) return tl::unexpected(pipe.error());
    auto steps = make_page();
    if (!steps) return tl::unexpected(steps.error());
    auto place = make_shared_value<Place>();
    if (!place) return tl::unexpected(place.error());
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child < 0) return tl::unexpected(system_error(errno, "fork", Need::file_access));
    if (child == 0) {
      pipe->first.reset();
      for (Worker& other : workers_) other.pipe.reset();
      if (!die_with_parent(parent)) ::_exit(1);
      work_in_child({pipe->second.get(), steps->get(), counter_.get(), place->get()},
                    settled_.size(), calls_);
    }
    ::fcntl(pipe->first.get(), F_SETFL, O_NONBLOCK);
    Worker worker;
    worker.pid = child;
    worker.pipe = std::move(pipe->first);
    worker.steps = std::move(*steps);
    worker.place = std::move(*place);
    worker.began = steady_clock::now();
    return worker;
  }

  /// Waits for whatever comes first, and does what it asks for.
  void turn() {
    SteadyTime until = limits_.end;
    std::vector<pollfd> watched;
    for (Worker& worker : workers_) {
      look(worker);
      until = std::min(until, worker.began + limits_.per_task);
      watched.push_back({worker.pipe.get(), POLLIN, 0});
    }
    ::poll(watched.data(), watched.size(), milliseconds_until(until));
    for (Worker& worker : workers_) {
      read(worker);
      look(worker);
      if (worker.ended) {
        finish(worker);
      } else if (worker.too_much || steady_clock::now() >= worker.began + limits_.per_task) {
        kill(worker, "");
      }
    }
    replace_ended();
  }

  static void look(Worker& worker) {
    const std::uint64_t task = worker.place->task.load();
    if (task == worker.at) return;
    worker.at = task;
    worker.began = steady_clock::now();
  }

  void read(Worker& worker) {
    const auto buffer = std::make_unique_for_overwrite<std::array<char, 65536>>();
    while (worker.pipe.valid()) {
      const ssize_t count = ::read(worker.pipe.get(), buffer->data(), buffer->size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0 && errno == EAGAIN) break;
      if (count <= 0) {
        worker.ended = true;
        break;
      }
      worker.bytes.append(buffer->data(), static_cast<std::size_t>(count));
      // A worker that waits until its answer is read is not stuck.
      worker.began = steady_clock::now();
      take_frames(worker);
      if (worker.too_much) break;
    }
  }

  void take_frames(Worker& worker) {
    std::size_t used = 0;
    FrameHead head;
    while (worker.bytes.size() - used >= sizeof head) {
      std::memcpy(&head, worker.bytes.data() + used, sizeof head);
      worker.too_much = head.size > kMostBytes || head.task >= settled_.size();
      if (worker.too_much || worker.bytes.size() - used - sizeof head < head.size) break;
      const auto task = static_cast<std::size_t>(head.task);
      const std::string answer = worker.bytes.substr(used + sizeof head, head.size);
      used += sizeof head + answer.size();
      if (!settle(task)) continue;
      calls_.taken(task, answer);
    }
    worker.bytes.erase(0, used);
  }

  void kill(Worker& worker, std::string_view why) {
    ::kill(worker.pid, SIGKILL);
    read(worker);  // What it had written before.
    const auto status = kill_and_wait(worker.pid);
    std::string message;
    if (worker.too_much) {
      message = "the look at it gave more than is read";
    } else {
      message = "it did not answer in time";
      if (!why.empty()) message.append(": ").append(why);
    }
    if (!status) {
      message += "; the worker (PID " + std::to_string(worker.pid) +
                 ") is in uninterruptible sleep and was left behind";
    }
    lose(worker, worker.too_much ? ErrorKind::limit : ErrorKind::timeout, std::move(message));
    worker.pid = -1;
  }

  /// Its pipe was closed: it found no more to do, or it crashed.
  void finish(Worker& worker) {
    const auto status = wait_until(worker.pid, steady_clock::now() + std::chrono::seconds(2));
    const std::string how = status ? describe_status(*status) : "no end";
    if (!status) kill_and_wait(worker.pid);
    lose(worker, ErrorKind::io, "the look at it failed with " + how);
    worker.pid = -1;
  }

  /// Each task is taken or lost once: false where it was.
  bool settle(std::uint64_t task) {
    const bool first = !settled_[task];
    settled_[task] = true;
    return first;
  }

  /// The task that `worker` was at, where no answer came of it.
  void lose(const Worker& worker, ErrorKind kind, std::string message) {
    const std::uint64_t task = worker.place->task.load();
    if (task >= settled_.size() || !settle(task)) return;
    calls_.lost({static_cast<std::size_t>(task), kind,
                 read_step((*static_cast<const SharedSteps*>(worker.steps.get()))[0]),
                 std::move(message)});
  }

  void replace_ended() {
    std::erase_if(workers_, [](const Worker& worker) { return worker.pid < 0; });
    const bool more = counter_->next.load() < settled_.size();
    while (more && workers_.size() < limits_.workers && steady_clock::now() < limits_.end) {
      auto worker = start();
      if (!worker) return;
      workers_.push_back(std::move(*worker));
    }
  }

  void lose_rest() {
    for (std::size_t task = 0; task < settled_.size(); ++task) {
      if (!settle(task)) continue;
      calls_.lost({task, ErrorKind::timeout, {}, "its turn did not come before the deadline"});
    }
  }

  const CrewLimits& limits_;
  const CrewCalls& calls_;
  Shared<Counter> counter_;
  std::vector<bool> settled_;
  std::vector<Worker> workers_;
};

}  // namespace

Result<void> run_crew(const CrewLimits& limits, std::size_t tasks, const CrewCalls& calls) {
  if (tasks == 0) return {};
  auto counter = make_shared_value<Counter>();
  if (!counter) return tl::unexpected(counter.error());
  return Crew(limits, tasks, calls, std::move(*counter)).run();
}

}  // namespace cudart_doctor
