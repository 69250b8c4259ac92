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
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/formats/proc_text.hpp"
#include "cudart_doctor/sys/output_file.hpp"
#include "cudart_doctor/sys/proc_root.hpp"
#include "shared_steps.hpp"

namespace cudart_doctor {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// A task that has worked for less than a tenth of this time waits for something.
constexpr milliseconds kWaitsAfter{200};
/// How often workers are looked at where nothing else happens.
constexpr milliseconds kLookEvery{100};
/// What was killed ends at once, unless nobody can end it.
constexpr milliseconds kPatience{2'000};
constexpr milliseconds kLookAtKilledEvery{10};

constexpr std::size_t kMostBytes = std::size_t{64} << 20U;
constexpr std::uint64_t kNone = UINT64_MAX;

/// What stands before an answer in a worker's pipe.
struct FrameHead {
  std::uint64_t task = 0;
  std::uint64_t size = 0;
};

using Number = std::atomic<std::uint64_t>;
static_assert(Number::is_always_lock_free);

struct UnmapNumbers {
  std::size_t count = 0;
  void operator()(Number* numbers) const { ::munmap(numbers, count * sizeof(Number)); }
};
using SharedNumbers = std::unique_ptr<Number, UnmapNumbers>;

/// Of the caller and all its children.
Result<SharedNumbers> make_numbers(std::size_t count) {
  void* const page = ::mmap(nullptr, count * sizeof(Number), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) {
    return tl::unexpected(system_error(errno, "shared page", Need::file_access));
  }
  auto* const numbers = static_cast<Number*>(page);
  std::uninitialized_value_construct_n(numbers, count);
  return SharedNumbers(numbers, UnmapNumbers{count});
}

/// The tasks in the order in which workers take them. The caller, and only it, moves some behind
/// all others.
class Queue {
 public:
  static Result<Queue> make(std::size_t tasks) {
    auto numbers = make_numbers(kOrder + 2 * tasks);
    if (!numbers) return tl::unexpected(numbers.error());
    Queue queue(std::move(*numbers));
    for (std::size_t task = 0; task < tasks; ++task) queue.append(task);
    return queue;
  }

  /// In a worker. Nothing: none is left.
  [[nodiscard]] std::optional<std::uint64_t> take() const {
    std::uint64_t at = number(kNext).load();
    while (at < number(kEnd).load()) {
      if (!number(kNext).compare_exchange_weak(at, at + 1)) continue;
      const std::uint64_t task = number(kOrder + at).load();
      if (task != kNone) return task;
      at = number(kNext).load();
    }
    return std::nullopt;
  }

  /// In the caller: puts those that `which` names behind the others; each can be moved once. One
  /// that is taken meanwhile is done twice.
  void move_back(const std::function<bool(std::uint64_t task)>& which) {
    const std::uint64_t end = number(kEnd).load();
    for (std::uint64_t at = number(kNext).load(); at < end; ++at) {
      const std::uint64_t task = number(kOrder + at).load();
      if (task == kNone || !which(task)) continue;
      number(kOrder + at).store(kNone);
      append(task);
    }
  }

  [[nodiscard]] bool has_more() const { return number(kNext).load() < number(kEnd).load(); }

 private:
  // In the shared memory: the place of the next one, the end, and then the tasks.
  static constexpr std::size_t kNext = 0;
  static constexpr std::size_t kEnd = 1;
  static constexpr std::size_t kOrder = 2;

  explicit Queue(SharedNumbers numbers) : numbers_(std::move(numbers)) {}
  [[nodiscard]] Number& number(std::size_t at) const { return numbers_.get()[at]; }
  void append(std::uint64_t task) {
    const std::uint64_t end = number(kEnd).load();
    number(kOrder + end).store(task);
    number(kEnd).store(end + 1);
  }

  SharedNumbers numbers_;
};

/// Processor time that `pid` has used; nothing: it is gone.
std::optional<std::chrono::nanoseconds> time_worked(pid_t pid) {
  clockid_t clock = 0;
  timespec time = {};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &time) != 0) {
    return std::nullopt;
  }
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

/// Whether our child `pid` has work to do, though others may have the processor. False where /proc
/// is not of our PID namespace, or cannot be read.
bool is_runnable(pid_t pid) {
  const auto process = ProcDirectory::open("/proc/" + std::to_string(pid));
  const auto text = process ? process->read_file("stat") : tl::unexpected(process.error());
  const auto stat = text ? parse_stat(*text) : tl::unexpected(text.error());
  return stat && stat->parent_pid == ::getpid() && stat->state == 'R';
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
  const Queue& queue;
  Number& task;  ///< The one that it is at.
};

[[noreturn]] void work_in_child(const WorkerSide& side, const CrewCalls& calls) {
  constexpr int kFailed = 70;
  limit_worker();
  ::dup2(STDOUT_FILENO, STDERR_FILENO);  // To nowhere, for the same reason.
  ::signal(SIGPIPE, SIG_IGN);
  try {
    Progress progress(side.steps);
    while (const auto task = side.queue.take()) {
      progress.set("begin", {});
      side.task.store(*task);
      if (!send(side.pipe, *task, calls.work(*task, progress))) ::_exit(kFailed);
    }
    ::_exit(0);
  } catch (...) {
    ::_exit(kFailed);
  }
}

struct Worker {
  pid_t pid = -1;
  UniqueFd pipe;
  SharedPage steps;
  SharedNumbers task;                  ///< As it says itself.
  std::string bytes;                   ///< Read, and no whole frame yet.
  std::uint64_t at = kNone;            ///< The task when it was looked at last.
  SteadyTime began{};                  ///< When that was first seen.
  std::chrono::nanoseconds worked{0};  ///< Of the processor's time, by then.
  bool waits = false;                  ///< It does not work at the task, it waits for something.
  bool ended = false;                  ///< Its pipe is closed.
  bool too_much = false;
  std::optional<SteadyTime> killed;
  std::string why;  ///< It was killed.
};

class Crew {
 public:
  Crew(const CrewLimits& limits, std::size_t tasks, const CrewCalls& calls, Queue queue)
      : limits_(limits), calls_(calls), queue_(std::move(queue)), settled_(tasks) {}

  Result<void> run() {
    const auto started = start_more();
    // One worker does them all too.
    if (!started && workers_.empty()) return started;
    while (!workers_.empty() && steady_clock::now() < limits_.end) turn();
    for (Worker& worker : workers_) kill(worker, "the deadline of all came");
    while (!workers_.empty()) turn();
    lose_rest();
    return {};
  }

 private:
  Result<Worker> start() {
    auto pipe = make_pipe();
    if (!pipe) return tl::unexpected(pipe.error());
    auto steps = make_page();
    if (!steps) return tl::unexpected(steps.error());
    auto task = make_numbers(1);
    if (!task) return tl::unexpected(task.error());
    (*task)->store(kNone);
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child < 0) return tl::unexpected(system_error(errno, "fork", Need::file_access));
    if (child == 0) {
      pipe->first.reset();
      for (Worker& other : workers_) other.pipe.reset();
      if (!die_with_parent(parent)) ::_exit(1);
      work_in_child({pipe->second.get(), steps->get(), queue_, **task}, calls_);
    }
    ::fcntl(pipe->first.get(), F_SETFL, O_NONBLOCK);
    Worker worker;
    worker.pid = child;
    worker.pipe = std::move(pipe->first);
    worker.steps = std::move(*steps);
    worker.task = std::move(*task);
    worker.began = steady_clock::now();
    return worker;
  }

  /// As many workers as are to be at work, where there is work for them.
  Result<void> start_more() {
    auto at_work = std::ranges::count_if(
        workers_, [](const Worker& each) { return !each.waits && !each.killed; });
    const std::size_t most = std::min<std::size_t>(limits_.workers + kMostWaiting, settled_.size());
    while (at_work < limits_.workers && workers_.size() < most && queue_.has_more() &&
           steady_clock::now() < limits_.end) {
      auto worker = start();
      if (!worker) return tl::unexpected(worker.error());
      workers_.push_back(std::move(*worker));
      ++at_work;
    }
    return {};
  }

  /// Waits for whatever comes first, and does what it asks for.
  void turn() {
    std::vector<pollfd> watched;
    for (Worker& worker : workers_) {
      look(worker);
      watched.push_back({worker.pipe.get(), POLLIN, 0});
    }
    ::poll(watched.data(), watched.size(), milliseconds_until(next_look()));
    for (Worker& worker : workers_) {
      read(worker);
      look(worker);
      if (worker.killed) {
        bury(worker);
      } else if (worker.ended) {
        finish(worker);
      } else if (worker.too_much || steady_clock::now() >= worker.began + limits_.per_task) {
        kill(worker, "");
      } else {
        see_whether_it_waits(worker);
      }
    }
    std::erase_if(workers_, [](const Worker& worker) { return worker.pid < 0; });
    // Those that are there go on where no other can be had.
    (void)start_more();
  }

  [[nodiscard]] SteadyTime next_look() const {
    const SteadyTime now = steady_clock::now();
    SteadyTime until = now < limits_.end ? limits_.end : now + kPatience;
    for (const Worker& worker : workers_) {
      if (worker.killed) {
        until = std::min(until, now + kLookAtKilledEvery);
        continue;
      }
      until = std::min(until, worker.began + limits_.per_task);
      if (!worker.waits && queue_.has_more()) until = std::min(until, now + kLookEvery);
    }
    return until;
  }

  static void look(Worker& worker) {
    const std::uint64_t task = worker.task->load();
    if (task == worker.at) return;
    worker.at = task;
    begin_to_count(worker);
  }

  static void begin_to_count(Worker& worker) {
    worker.began = steady_clock::now();
    worker.worked = time_worked(worker.pid).value_or(worker.worked);
    worker.waits = false;
  }

  void see_whether_it_waits(Worker& worker) {
    if (worker.waits || worker.at >= settled_.size()) return;
    const auto passed = steady_clock::now() - worker.began;
    const auto worked = time_worked(worker.pid);
    if (!worked || passed < kWaitsAfter || *worked - worker.worked >= passed / 10) return;
    if (is_runnable(worker.pid)) return;
    worker.waits = true;
    if (calls_.owner) count_waiting_of(calls_.owner(worker.at));
  }

  void count_waiting_of(std::uint64_t owner) {
    if (++waiting_of_[owner] != kMostWaitingOfOne) return;
    queue_.move_back([&](std::uint64_t task) {
      return calls_.owner(task) == owner && moved_.insert(task).second;
    });
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
      begin_to_count(worker);
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

  static void kill(Worker& worker, std::string_view why) {
    if (worker.killed) return;
    ::kill(worker.pid, SIGKILL);
    worker.killed = steady_clock::now();
    worker.why = why;
  }

  /// It was killed: its task is lost once it has ended, or does not.
  void bury(Worker& worker) {
    const auto status = wait_until(worker.pid, steady_clock::now());
    if (!status && steady_clock::now() < *worker.killed + kPatience) return;
    std::string message;
    if (worker.too_much) {
      message = "the look at it gave more than is read";
    } else {
      message = "it did not answer in time";
      if (!worker.why.empty()) message.append(": ").append(worker.why);
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
    const auto status = wait_until(worker.pid, steady_clock::now() + kPatience);
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
    const std::uint64_t task = worker.task->load();
    if (task >= settled_.size() || !settle(task)) return;
    calls_.lost({static_cast<std::size_t>(task), kind,
                 read_step((*static_cast<const SharedSteps*>(worker.steps.get()))[0]),
                 std::move(message)});
  }

  void lose_rest() {
    for (std::size_t task = 0; task < settled_.size(); ++task) {
      if (!settle(task)) continue;
      calls_.lost({task, ErrorKind::timeout, {}, "its turn did not come before the deadline"});
    }
  }

  const CrewLimits& limits_;
  const CrewCalls& calls_;
  Queue queue_;
  std::set<std::uint64_t> moved_;                    ///< Tasks that were put behind the others.
  std::map<std::uint64_t, std::size_t> waiting_of_;  ///< By owner: tasks that had to wait.
  std::vector<bool> settled_;
  std::vector<Worker> workers_;
};

}  // namespace

Result<void> run_crew(const CrewLimits& limits, std::size_t tasks, const CrewCalls& calls) {
  if (tasks == 0) return {};
  auto queue = Queue::make(tasks);
  if (!queue) return tl::unexpected(queue.error());
  return Crew(limits, tasks, calls, std::move(*queue)).run();
}

}  // namespace cudart_doctor
