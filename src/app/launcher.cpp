#include "launcher.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "cudart_doctor/sys/clock.hpp"

namespace cudart_doctor {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr seconds kGatePatience{2};
/// Behind SIGKILL; a process in uninterruptible sleep is left.
constexpr seconds kKillPatience{5};

/// False for one that is about to end: it has no memory any more, or it is a worker of the doctor's
/// whose parent was killed, which it does not survive.
bool goes_on(const ProcDirectory& proc, pid_t pid) {
  const std::string other = std::to_string(pid);
  const auto program = proc.read_link(other + "/exe");
  if (!program) return program.error().kind == ErrorKind::permission;
  const auto own_program = proc.read_link("self/exe");
  if (!own_program || *own_program != *program) return true;
  const auto words = proc.read_file(other + "/cmdline");
  const auto own_words = proc.read_file("self/cmdline");
  return !words || !own_words || *words != *own_words;
}

}  // namespace

Launcher::Launcher(const Options& options, const World& world, const JudgeOptions& how,
                   LaunchTools& tools)
    : options_(options),
      world_(world),
      how_(how),
      tools_(tools),
      request_(options.launch),
      desk_([this](pid_t pid, int memory) { return look(pid, memory); }, options.timeout),
      ready_(options.launch.ready, steady_clock::now()) {
  if (tools_.recorder) channel_.emplace(tools_.recorder->listener());
}

int Launcher::watch(StartedCommand started, Recordable recordable, LaunchBook book) {
  command_ = std::move(started);
  book_ = std::move(book);
  root_pid_ = command_.pid;
  meet_command(recordable);
  if (command_.traced) tracer_.adopt(root_pid_);
  if (command_.trace_refused) {
    book_.note_limit("not held before its end: " + command_.trace_refused->message);
  }
  next_look_ = steady_clock::now() + milliseconds(100);
  while (phase_ != Phase::over) {
    tend();
    // One phase may be over as soon as it begins.
    auto before = phase_;
    do {
      before = phase_;
      step();
    } while (phase_ != before);
    if (phase_ != Phase::over) wait();
  }
  // Each program that they start would have its loader complain on stderr.
  const auto left = own_processes();
  const bool any = std::ranges::any_of(
      left, [this](const TreeProcess& each) { return goes_on(tools_.proc, each.pid); });
  if (tools_.recorder && any) tools_.recorder->keep_library();
  // What others behind the command still write is not waited for.
  if (tools_.output) tools_.output->finish();
  return launch_exit_code(end_, request_);
}

void Launcher::meet_command(Recordable recordable) {
  // A short one may be gone before anybody looks.
  const auto image = book_.meet(look_at(tools_.proc, root_pid_), monotonic_now());
  if (!image) return;
  RecordedProcess& process = book_.process(*image);
  process.recorded = tools_.recorder.has_value() && recordable == Recordable::yes;
  process.traced = command_.traced;
  if (process.recorded) return;
  process.unrecorded =
      tools_.recorder ? why_unrecorded(recordable) : "the recorder could not be laid";
}

void Launcher::wait() {
  std::vector<pollfd> watched;
  const auto add = [&watched](int fd) { watched.push_back({fd, POLLIN, 0}); };
  add(tools_.relay.descriptor());
  if (channel_) std::ranges::for_each(channel_->descriptors(), add);
  std::ranges::for_each(desk_.descriptors(), add);
  if (report_) add(report_->descriptor());
  if (tools_.output) std::ranges::for_each(tools_.output->descriptors(), add);

  std::optional<SteadyTime> due = desk_.due();
  const auto at = [&due](SteadyTime time) { due = std::min(due.value_or(time), time); };
  const auto word = channel_ ? channel_->due() : std::nullopt;
  if (word) at(*word);
  if (phase_ == Phase::watching) {
    at(next_look_);
    if (const auto ready = ready_.due()) at(*ready);
  }
  // Grandchildren that are waited for by others end without a word.
  if (phase_ == Phase::ending) at(steady_clock::now() + milliseconds(20));
  if (report_) at(report_->end());
  ::poll(watched.data(), watched.size(), due ? milliseconds_until(*due) : -1);
}

void Launcher::tend() {
  const RelayedSignals signals = tools_.relay.relay(command_);
  if (signals.window_changed && tools_.output && tools_.output->copy_window_size() &&
      command_.pid != 0) {
    // It may have looked before its terminal had the new size.
    ::kill(command_.pid, SIGWINCH);
  }
  // What a process said before it ended was sent before: events first, then what was sent, then
  // what the events mean.
  const auto events = tracer_.poll();
  if (events.empty()) {
    take_packets();
  } else {
    (void)hear_rest();
  }
  if (channel_) channel_->tend();
  for (const TraceEvent& event : events) take_event(event);
  for (JudgeAnswer& answer : desk_.take()) settle(std::move(answer));
  if (tools_.output && tools_.output->pump()) ready_.seen();
}

void Launcher::step() {
  const auto now = steady_clock::now();
  switch (phase_) {
    case Phase::watching:
      if (!command_ended_ && now >= next_look_) look_around(Depth::usual);
      // What it said or mapped right before its end counts.
      if (command_ended_) {
        look_around(Depth::all);
        if (tools_.output && tools_.output->hear_out()) ready_.seen();
      }
      if (ready_.met(now)) book_.head().ready = true;
      if (!command_ended_ && !book_.head().ready) return;
      if (!command_ended_) look_around(Depth::all);
      judge_living(command_ended_ ? JudgeMoment::load : JudgeMoment::ready);
      if (tools_.output) tools_.output->stop_looking();
      phase_ = Phase::concluding;
      return;
    case Phase::concluding:
      if (desk_.idle()) begin_report();
      return;
    case Phase::reporting: return tend_report();
    case Phase::keeping:
      if (command_ended_) phase_ = Phase::over;
      return;
    case Phase::ending: return tend_ending();
    case Phase::over: return;
  }
}

void Launcher::fire_gate() {
  end_.gated = true;
  book_.head().gated = true;
  desk_.drop_waiting();
  begin_ending(kGatePatience);
}

void Launcher::begin_ending(seconds patience) {
  for (const pid_t pid : std::exchange(held_, {})) tracer_.release(pid);
  kill_at_ = steady_clock::now() + patience;
  give_up_at_ = kill_at_ + kKillPatience;
  signal_processes(own_processes(), SIGTERM);
  phase_ = Phase::ending;
}

void Launcher::tend_ending() {
  const auto left = own_processes();
  const auto now = steady_clock::now();
  if (now >= kill_at_) signal_processes(left, SIGKILL);
  const bool gone = command_ended_ && left.empty();
  if (!gone && now < give_up_at_) return;
  phase_ = end_.gated ? Phase::concluding : Phase::over;
}

}  // namespace cudart_doctor
