#include "pair.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <utility>

#include "child_stream.hpp"
#include "frame_sink.hpp"

namespace cudart_doctor {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// A child that closed its results is leaving; one that does not leave then is lost.
constexpr milliseconds kLeaving{1000};
/// For the kernel to take everything down, and of it for the two children.
constexpr milliseconds kEnding{1800};
constexpr milliseconds kReaping{1400};
/// For the records that the other child has written already.
constexpr milliseconds kSettling{250};
/// The supervisor wants to see life once a second.
constexpr milliseconds kHeartbeat{500};

/// What happened to a child that is lost.
enum class Loss : std::uint8_t { ended, faulty, hung };

struct LostChild {
  ChildStream* child = nullptr;
  Loss loss = Loss::ended;
  std::string reason;
};

/// What the C library's loader exits with when it cannot serve a program: a library is missing, or
/// lacks a version of a symbol.
bool is_refusal_of_loader(const ChildStream& child) {
  constexpr int kNoLibrary = 127;
  constexpr int kNoVersion = 1;
  if (!child.ended() || !WIFEXITED(*child.status())) return false;
  const int code = WEXITSTATUS(*child.status());
  return code == kNoLibrary || code == kNoVersion;
}

class Pair {
 public:
  Pair(const PairSetting& setting, PairRequest request)
      : setting_(setting), request_(std::move(request)) {
    outcome_.runtimes.resize(request_.order.runtimes.size());
    for (std::size_t i = 0; i < request_.order.runtimes.size(); ++i) {
      request_.order.runtimes[i].fd = kProbeFirstFileFd + static_cast<int>(i);
    }
  }

  PairOutcome run() {
    if (start_all()) {
      listen();
      if (lost_ && lost_->loss != Loss::hung) settle();
      outcome_.started = !lost_ || lost_->child->spoke;
      for (std::size_t place = 0; place < outcome_.runtimes.size(); ++place) {
        outcome_.runtimes[place].finished = is_through(place);
      }
    }
    finish();
    return std::move(outcome_);
  }

 private:
  bool start_all();
  bool start_one(ProbeSide side, int peer);
  void listen();
  void take_news();
  void wait_for_news();
  void tell();
  std::optional<LostChild> find_lost();
  std::optional<LostChild> find_ended();
  std::optional<LostChild> find_hung();
  ChildStream* most_behind();
  SteadyTime limit_of(const ChildStream& stream) const;
  bool is_through(std::size_t place) const;
  bool wants_fresh_pair() const;
  void settle();
  void finish();
  void name_loss();
  ChildEnd end_of(const ChildStream& stream) const;

  const PairSetting& setting_;
  PairRequest request_;
  PairOutcome outcome_;
  std::vector<ChildStream> streams_;
  std::optional<LostChild> lost_;
  SteadyTime told_;
  std::string step_ = "probe: start";
};

bool Pair::start_all() {
  if (request_.partner == Partner::none) return start_one(ProbeSide::exporter, -1);
  std::array<int, 2> ends = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    StageResult failed;
    failed.outcome = StageOutcome::fail;
    failed.side = ProbeSide::runner;
    failed.detail = std::string("socketpair: ") + std::strerror(errno);
    outcome_.start.push_back(std::move(failed));
    return false;
  }
  const UniqueFd exporter(ends[0]);
  const UniqueFd importer(ends[1]);
  // streams_ must not move: lost_ points into it.
  streams_.reserve(ends.size());
  return start_one(ProbeSide::exporter, exporter.get()) &&
         start_one(ProbeSide::importer, importer.get());
}

bool Pair::start_one(ProbeSide side, int peer) {
  StageResult result;
  result.side = side;
  result.outcome = StageOutcome::fail;
  request_.order.side = side;
  const auto order = make_order_file(encode_order(request_.order));
  auto child = order ? start_child({.argument = kProbeChildArgument,
                                    .rights = setting_.rights,
                                    .environment = setting_.environment,
                                    .executable = setting_.executable,
                                    .peer = peer,
                                    .order = order->get(),
                                    .files = request_.files,
                                    .end = setting_.end})
                     : tl::unexpected(order.error());
  if (!child) {
    result.detail = child.error().message;
  } else if (child->failure) {
    result.detail = describe(*child->failure);
    result.call = result.detail.substr(0, result.detail.find(':'));
  } else {
    result.outcome = StageOutcome::pass;
    for (const StartNote& note : child->notes) outcome_.notes.push_back(note);
    streams_.emplace_back(side, std::move(*child));
  }
  const bool started = result.outcome == StageOutcome::pass;
  outcome_.start.push_back(std::move(result));
  return started;
}

void Pair::listen() {
  while (true) {
    take_news();
    lost_ = find_lost();
    const bool all_ended = std::all_of(streams_.begin(), streams_.end(),
                                       [](const ChildStream& one) { return one.ended(); });
    if (lost_ || all_ended || wants_fresh_pair() || Descendants::interrupted()) return;
    wait_for_news();
  }
}

void Pair::take_news() {
  for (ChildStream& stream : streams_) {
    // First: what a child wrote before its end is in the pipe then.
    stream.look();
    stream.read_frames([&](const Frame& frame) {
      if (frame.kind == FrameKind::begin) {
        step_ =
            "probe: " + std::string(kStageNames.at(static_cast<std::size_t>(frame.stage.stage)));
      }
      tell();
      return accept_frame(frame, request_.order, stream, outcome_);
    });
    stream.read_output();
  }
}

void Pair::wait_for_news() {
  std::array<pollfd, 6> watched = {};
  nfds_t count = 0;
  SteadyTime until = std::min(setting_.end, steady_clock::now() + kHeartbeat);
  for (const ChildStream& stream : streams_) {
    if (stream.ended()) continue;
    if (limit_of(stream) > steady_clock::now()) until = std::min(until, limit_of(stream));
    for (const int fd : {stream.results_fd(), stream.output_fd(), stream.handle()}) {
      if (fd >= 0) watched.at(count++) = {fd, POLLIN, 0};
    }
    // Without a descriptor of the process (before Linux 5.3) its end is only seen by looking.
    constexpr milliseconds kLook{10};
    if (stream.handle() < 0) until = std::min(until, steady_clock::now() + kLook);
  }
  ::poll(watched.data(), count, std::max(1, milliseconds_until(until)));
  if (steady_clock::now() >= told_ + kHeartbeat) tell();
}

void Pair::tell() {
  told_ = steady_clock::now();
  if (setting_.progress) setting_.progress(step_);
}

std::optional<LostChild> Pair::find_lost() {
  if (auto ended = find_ended()) return ended;
  for (ChildStream& stream : streams_) {
    if (stream.ended()) continue;
    if (!stream.fault().empty()) return LostChild{&stream, Loss::faulty, stream.fault()};
    if (!stream.done && stream.closed_at() &&
        steady_clock::now() > *stream.closed_at() + kLeaving) {
      return LostChild{&stream, Loss::faulty, "its result descriptor was closed"};
    }
  }
  return find_hung();
}

std::optional<LostChild> Pair::find_ended() {
  std::optional<LostChild> found;
  for (ChildStream& stream : streams_) {
    if (!stream.ended() || stream.done) continue;
    const bool by_signal = WIFSIGNALED(*stream.status());
    // Where both are gone the one that crashed took the other along.
    if (found && !by_signal) continue;
    found = LostChild{&stream, Loss::ended, describe_status(*stream.status())};
    if (!by_signal) found->reason += " before it was done";
    if (!stream.fault().empty()) found->reason = stream.fault();
    if (by_signal) break;
  }
  return found;
}

std::optional<LostChild> Pair::find_hung() {
  const SteadyTime now = steady_clock::now();
  if (now >= setting_.end) {
    ChildStream* const child = most_behind();
    if (child == nullptr) return std::nullopt;
    return LostChild{child, Loss::hung, "no answer until the end of the probe's time"};
  }
  // Between two stages a child waits for the other one: alone that is no hang.
  ChildStream* const behind = most_behind();
  if (behind == nullptr || now < limit_of(*behind)) return std::nullopt;
  const bool all_late = std::all_of(streams_.begin(), streams_.end(), [&](const ChildStream& one) {
    return one.ended() || now >= limit_of(one);
  });
  if (!behind->open && !all_late) return std::nullopt;
  return LostChild{behind, Loss::hung, "no answer within " + shown(setting_.stage_limit)};
}

SteadyTime Pair::limit_of(const ChildStream& stream) const {
  return (stream.open ? stream.open->since : stream.quiet_since()) + setting_.stage_limit;
}

/// Of two that do not answer one waits for the other: the other is the one at the earlier stage.
ChildStream* Pair::most_behind() {
  ChildStream* found = nullptr;
  for (ChildStream& stream : streams_) {
    if (stream.ended()) continue;
    if (found == nullptr || (stream.open && !found->open)) {
      found = &stream;
      continue;
    }
    if (!stream.open || !found->open) continue;
    const auto rank = [](const ChildStream& one) {
      return std::pair(one.open->place, one.open->stage.stage);
    };
    if (rank(stream) < rank(*found)) found = &stream;
  }
  return found;
}

bool Pair::is_through(std::size_t place) const {
  return std::all_of(streams_.begin(), streams_.end(), [&](const ChildStream& one) {
    return one.done || (one.place && *one.place > place);
  });
}

/// A failed call can leave the shared primary context damaged: what follows it would be blamed.
bool Pair::wants_fresh_pair() const {
  for (std::size_t place = 0; place + 1 < outcome_.runtimes.size(); ++place) {
    if (outcome_.runtimes[place].failed && is_through(place)) {
      return !std::all_of(streams_.begin(), streams_.end(),
                          [](const ChildStream& one) { return one.done; });
    }
  }
  return false;
}

void Pair::finish() {
  if (lost_) name_loss();
  for (ChildStream& stream : streams_) stream.kill();
  step_ = "probe: end its processes";
  const SteadyTime now = steady_clock::now();
  for (ChildStream& stream : streams_) {
    while (!stream.reap(std::min(now + kReaping, steady_clock::now() + kHeartbeat)) &&
           steady_clock::now() < now + kReaping) {
      tell();
    }
    stream.read_output();
    ChildEnd result = end_of(stream);
    (stream.side() == ProbeSide::exporter ? outcome_.exporter : outcome_.importer) =
        std::move(result);
  }
  while (
      !setting_.descendants->end_all(std::min(now + kEnding, steady_clock::now() + kHeartbeat)) &&
      steady_clock::now() < now + kEnding) {
    tell();
  }
}

/// The other child is in step and through with what came before: its records of that are on their
/// way. What it says of the stage at which it lost its partner is not waited for.
void Pair::settle() {
  const ChildStream& lost = *lost_->child;
  const SteadyTime end = steady_clock::now() + kSettling;
  const auto behind = [&](const ChildStream& one) {
    return &one != &lost && !one.ended() && !one.done && one.place < lost.place;
  };
  while (std::any_of(streams_.begin(), streams_.end(), behind) && steady_clock::now() < end) {
    std::array<pollfd, 2> watched = {};
    nfds_t count = 0;
    for (const ChildStream& stream : streams_) {
      if (behind(stream)) watched.at(count++) = {stream.results_fd(), POLLIN, 0};
    }
    ::poll(watched.data(), count, std::max(1, milliseconds_until(end)));
    take_news();
  }
}

void Pair::name_loss() {
  ChildStream& child = *lost_->child;
  if (child.done) return;
  if (child.spoke) {
    outcome_.culprit = child.place.value_or(0);
    close_lost(child, lost_->reason, outcome_);
  } else {
    for (StageResult& start : outcome_.start) {
      if (start.side != child.side()) continue;
      start.outcome = StageOutcome::begun;
      start.detail = lost_->reason;
      if (is_refusal_of_loader(child)) start.detail += ": the C library there does not serve it";
    }
  }
  for (ChildStream& other : streams_) {
    if (&other == &child || !other.open) continue;
    StageResult& stage = other.open->stage;
    stage.outcome = StageOutcome::skipped;
    stage.detail = "the other process was lost";
    outcome_.runtimes[other.open->place].stages.push_back(stage);
  }
}

ChildEnd Pair::end_of(const ChildStream& stream) const {
  ChildEnd end;
  end.pid = stream.pid();
  end.output = stream.output();
  const bool is_lost = lost_ && lost_->child == &stream;
  if (!stream.ended()) {
    end.kind = ChildEndKind::left;
  } else if (is_lost && lost_->loss == Loss::hung) {
    end.kind = ChildEndKind::timed_out;
  } else if (stream.was_killed()) {
    end.kind = ChildEndKind::killed;
  } else if (WIFSIGNALED(*stream.status())) {
    end.kind = ChildEndKind::signalled;
    end.status = WTERMSIG(*stream.status());
  } else {
    end.kind = ChildEndKind::exited;
    end.status = WEXITSTATUS(*stream.status());
  }
  return end;
}

}  // namespace

PairOutcome run_pair(const PairSetting& setting, PairRequest request) {
  return Pair(setting, std::move(request)).run();
}

std::string shown(std::chrono::milliseconds time) {
  constexpr int kSecond = 1000;
  return time.count() % kSecond == 0 ? std::to_string(time.count() / kSecond) + " s"
                                     : std::to_string(time.count()) + " ms";
}

}  // namespace cudart_doctor
