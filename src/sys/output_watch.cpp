#include "cudart_doctor/sys/output_watch.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "cudart_doctor/sys/proc_root.hpp"
#include "output_stream.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kMaxLine = std::size_t{64} << 10U;

/// Cuts a stream into lines and asks for each.
class LineWatch {
 public:
  using Matches = std::function<bool(std::string_view)>;

  /// Whether a line that ended in `bytes` matches.
  bool take(std::string_view bytes, const Matches& matches) {
    bool found = false;
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      const std::string_view part = bytes.substr(0, end);
      line_.append(part.substr(0, kMaxLine - line_.size()));
      if (end == std::string_view::npos) return found;
      found = ask(matches) || found;
      bytes.remove_prefix(end + 1);
    }
    return found;
  }
  /// Whether what was begun and not ended matches; it counts once.
  bool finish(const Matches& matches) { return !line_.empty() && ask(matches); }

 private:
  bool ask(const Matches& matches) {
    std::string_view line = line_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    const bool found = matches(line);
    line_.clear();
    return found;
  }
  std::string line_;
};

/// Whether both descriptors lead to the same pipe, terminal or file.
bool same_place(int a, int b) {
  struct stat first = {};
  struct stat second = {};
  return ::fstat(a, &first) == 0 && ::fstat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

struct Way {
  OutputStream stream;
  LineWatch lines;
};

}  // namespace

struct OutputWatch::State {
  std::function<bool(std::string_view)> matches;
  bool looking = true;
  bool matched = false;
  std::vector<Way> ways;  ///< stdout, stderr; one where both lead to the same place.
  UniqueFd waiting;       ///< An epoll descriptor: waits for readers as well as for the command.

  [[nodiscard]] bool is_over() const {
    return std::ranges::all_of(ways, [](const Way& way) { return way.stream.is_over(); });
  }
  void copy(Way& way);
  void look(Way& way, std::string_view seen);
  void wait_anew();
  [[noreturn]] void copy_on();
};

void OutputWatch::State::copy(Way& way) {
  if (!way.stream.is_over()) look(way, way.stream.copy());
}

void OutputWatch::State::look(Way& way, std::string_view seen) {
  if (!looking) return;
  bool found = way.lines.take(seen, matches);
  if (way.stream.source() < 0) found = way.lines.finish(matches) || found;
  matched = matched || found;
  looking = !matched;
}

/// What is waited for changes with each copy: the command, or who reads what it wrote.
void OutputWatch::State::wait_anew() {
  UniqueFd fresh(::epoll_create1(EPOLL_CLOEXEC));
  if (!fresh.valid()) return;
  for (const Way& way : ways) {
    if (way.stream.is_over()) continue;
    const bool full = way.stream.waits_for_reader();
    epoll_event event = {};
    event.events = full ? EPOLLOUT : EPOLLIN;
    ::epoll_ctl(fresh.get(), EPOLL_CTL_ADD, way.stream.waits_for(), &event);
    if (full) continue;
    // A reader that goes away is told without a write. Files cannot be waited for, and need not be.
    epoll_event reader = {};
    ::epoll_ctl(fresh.get(), EPOLL_CTL_ADD, way.stream.target(), &reader);
  }
  waiting = std::move(fresh);
}

OutputWatch::OutputWatch(std::unique_ptr<State> state) : state_(std::move(state)) {}
OutputWatch::OutputWatch(OutputWatch&& other) noexcept = default;
OutputWatch& OutputWatch::operator=(OutputWatch&& other) noexcept = default;
OutputWatch::~OutputWatch() = default;

Result<OutputWatch> OutputWatch::start(std::function<bool(std::string_view line)> matches) {
  auto state = std::make_unique<State>();
  state->matches = std::move(matches);
  for (const int target : {STDOUT_FILENO, STDERR_FILENO}) {
    if (target == STDERR_FILENO && same_place(STDOUT_FILENO, STDERR_FILENO)) break;
    auto stream = OutputStream::open(target);
    if (!stream) return tl::unexpected(stream.error());
    state->ways.push_back({std::move(*stream), {}});
  }
  state->wait_anew();
  if (!state->waiting.valid()) {
    return tl::unexpected(system_error(errno, "epoll", Need::file_access));
  }
  return OutputWatch(std::move(state));
}

int OutputWatch::command_out() const { return state_->ways.front().stream.command_end(); }
int OutputWatch::command_err() const { return state_->ways.back().stream.command_end(); }

void OutputWatch::close_command_ends() {
  for (Way& way : state_->ways) way.stream.close_command_end();
}

std::vector<int> OutputWatch::descriptors() const {
  if (state_->is_over()) return {};
  return {state_->waiting.get()};
}

bool OutputWatch::pump() {
  for (Way& way : state_->ways) state_->copy(way);
  state_->wait_anew();
  return state_->matched;
}

bool OutputWatch::hear_out() {
  pump();
  State& state = *state_;
  for (Way& way : state.ways) {
    state.look(way, way.stream.take_rest());
    state.matched = (state.looking && way.lines.finish(state.matches)) || state.matched;
  }
  state.wait_anew();
  return state.matched;
}

void OutputWatch::stop_looking() { state_->looking = false; }

bool OutputWatch::copy_window_size() {
  bool changed = false;
  for (Way& way : state_->ways) changed = way.stream.copy_window_size() || changed;
  return changed;
}

/// In the child of finish(): all that it holds is what it copies.
void OutputWatch::State::copy_on() {
  looking = false;
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  // A descriptor too many would keep somebody waiting for its end.
  std::vector<unsigned> kept;
  for (const Way& way : ways) {
    if (way.stream.is_over()) continue;
    kept.push_back(static_cast<unsigned>(way.stream.target()));
    if (way.stream.source() >= 0) kept.push_back(static_cast<unsigned>(way.stream.source()));
  }
  std::ranges::sort(kept);
  unsigned next = 0;
  for (const unsigned fd : kept) {
    if (fd > next) ::syscall(SYS_close_range, next, fd - 1, 0);
    next = fd + 1;
  }
  ::syscall(SYS_close_range, next, ~0U, 0);
  static_cast<void>(waiting.release());
  static_cast<void>(!::chdir("/"));
  while (!is_over()) {
    wait_anew();
    pollfd watched = {waiting.get(), POLLIN, 0};
    ::poll(&watched, 1, -1);
    for (Way& way : ways) {
      if (way.stream.is_over()) continue;
      copy(way);
      if (way.stream.is_over()) way.stream.close_target();
    }
  }
  ::_exit(0);
}

void OutputWatch::finish() {
  close_command_ends();
  int patience = 0;
  while (pump(), !state_->is_over()) {
    pollfd watched = {state_->waiting.get(), POLLIN, 0};
    if (::poll(&watched, 1, patience) > 0) continue;
    for (Way& way : state_->ways) state_->look(way, way.stream.take_rest());
    const pid_t child = ::fork();
    if (child == 0) state_->copy_on();
    if (child > 0) {
      for (Way& way : state_->ways) way.stream.abandon();
    }
    // Without a child there is nothing but to wait.
    patience = -1;
  }
}

}  // namespace cudart_doctor
