// What the recorder and the tracer tell the launcher.
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "cudart_doctor/sys/clock.hpp"
#include "launcher.hpp"

namespace cudart_doctor {
namespace {

/// What a process is kept waiting at most, beside the time of one look.
constexpr std::chrono::seconds kLongestWait{60};

std::string link_to_program(std::int64_t pid) { return "/proc/" + std::to_string(pid) + "/exe"; }

}  // namespace

bool Launcher::take_packets() {
  if (!channel_) return false;
  const auto packets = channel_->take();
  for (const RecorderPacket& packet : packets) {
    const auto record = parse_record(packet.bytes);
    if (record) {
      take_record(packet, *record);
    } else {
      book_.note_limit("a record was not understood: " + record.error().message);
    }
  }
  return !packets.empty();
}

bool Launcher::hear_rest() {
  constexpr std::chrono::seconds kPatience{1};
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (take_packets()) {
    if (std::chrono::steady_clock::now() >= end) return false;
  }
  return true;
}

std::optional<ImageId> Launcher::image_for(const RecorderPacket& packet, const WireRecord& record) {
  const auto known = book_.image_of(packet.pid);
  const bool lives = known && book_.process(*known).end == ProcessEnd::unknown;
  if (lives && record.kind != WireKind::start) return known;
  SeenProcess seen = look_at(tools_.proc, packet.pid);
  seen.pid = packet.pid;
  // One that is being waited for has no parent any more.
  const bool gone = seen.start_ticks == 0 || seen.parent_pid == 0;
  // A process that is gone already cannot be asked where it came from; nobody else knows the
  // socket's random name.
  const bool ours = known || gone || book_.image_of(seen.parent_pid) ||
                    is_below(tools_.proc, packet.pid, ::getpid());
  if (!ours) {
    ++foreign_;
    return std::nullopt;
  }
  if (seen.parent_pid == 0) seen.parent_pid = record.parent_pid;
  const std::int64_t when = record.monotonic;
  return record.kind == WireKind::start ? book_.started(seen, when) : book_.meet(seen, when);
}

void Launcher::take_record(const RecorderPacket& packet, const WireRecord& record) {
  const bool waits = record.kind == WireKind::sync;
  // Once the report is made nothing is recorded any more.
  const bool late = phase_ == Phase::reporting || phase_ == Phase::keeping;
  const auto image = late ? std::nullopt : image_for(packet, record);
  if (!image) {
    if (waits && !end_.gated) channel_->answer(packet.connection, kProceed);
    return;
  }
  if (waits) {
    watches_[*image].checks_leaks = record.checks_leaks;
    book_.asks(*image);
    return take_sync(*image, packet);
  }
  if (record.kind == WireKind::start) return;
  book_.add(*image, record);
  book_.process(*image).copy_of = 0;
  if (record.kind != WireKind::load) return;
  ready_.loaded(record.event.path, std::chrono::steady_clock::now());
}

void Launcher::take_sync(ImageId image, const RecorderPacket& packet) {
  // Looks at processes may take their time: the recorder hears first that somebody is there.
  channel_->keep_waiting(packet.connection,
                         std::chrono::steady_clock::now() + kLongestWait + options_.timeout);
  if (end_.gated) return;  // It is killed where it waits.
  if (phase_ != Phase::watching) return channel_->answer(packet.connection, kProceed);
  const bool traced = trace(image, packet.pid);
  if (request_.gate || !traced) {
    desk_.order({image, packet.pid, JudgeMoment::load, packet.connection});
  } else {
    channel_->answer(packet.connection, kProceed);
  }
}

bool Launcher::trace(ImageId image, pid_t pid) {
  Watch& watch = watches_[image];
  if (watch.asked_to_trace || !request_.ptrace) return watch.traced;
  if (phase_ != Phase::watching) return false;
  watch.asked_to_trace = true;
  if (watch.checks_leaks) {
    book_.note_limit(
        "not held before its end, judged at its last load: LeakSanitizer in it wants to trace it");
    return false;
  }
  if (tracer_.is_traced(pid)) {
    watch.traced = true;
    return true;
  }
  const auto seized = tracer_.seize(pid);
  watch.traced = seized.has_value();
  if (!seized && seized.error().kind != ErrorKind::gone) {
    book_.note_limit("not held before its end, judged at its last load: " + seized.error().message);
  }
  return watch.traced;
}

void Launcher::take_event(const TraceEvent& event) {
  switch (event.kind) {
    case TraceEventKind::exiting: return take_exit(event);
    case TraceEventKind::executed: return take_exec(event.pid);
    case TraceEventKind::forked: {
      const auto child = book_.meet(look_at(tools_.proc, event.child), monotonic_now());
      if (child) book_.process(*child).traced = true;
      return;
    }
    case TraceEventKind::stopped: {
      if (event.pid == command_.pid) tools_.relay.command_stopped(event.status);
      return;
    }
    case TraceEventKind::ended: break;
  }
  held_.erase(event.pid);
  if (desk_.children().contains(event.pid)) return desk_.waited_for(event.pid);
  if (event.pid == report_pid_) report_pid_ = 0;
  book_.ended(event.pid, event.status);
  if (event.pid != root_pid_ || command_ended_) return;
  command_ended_ = true;
  command_.pid = 0;
  end_.wait_status = event.status;
}

void Launcher::take_exit(const TraceEvent& event) {
  auto image = book_.image_of(event.pid);
  if (!image) image = book_.meet(look_at(tools_.proc, event.pid), monotonic_now());
  const bool deciding = phase_ == Phase::watching || phase_ == Phase::concluding;
  if (!image || !deciding) return tracer_.release(event.pid);
  if (!book_.is_worth_a_look(*image) && book_.process(*image).copy_of == 0) {
    const MapsQuestion question{tools_.recorder ? tools_.recorder->library() : "", {}};
    const MapsLook look = look_into_maps(tools_.proc, event.pid, question);
    if (look.recorder) {
      look_at_recorded(*image, look, Depth::all);
    } else if (look.family) {
      book_.found_by_look(*image);
    }
  }
  if (!event.others_live) book_.ended(event.pid, event.status);
  if (!book_.is_worth_a_look(*image)) return tracer_.release(event.pid);
  held_.insert(event.pid);
  // A look that was ordered before may be over soon, or find it in this state.
  if (phase_ == Phase::watching) {
    const JudgeMoment moment = event.others_live ? JudgeMoment::load : JudgeMoment::exit;
    desk_.order({*image, event.pid, moment, std::nullopt});
  } else if (!desk_.has(*image)) {
    held_.erase(event.pid);
    tracer_.release(event.pid);
  }
}

void Launcher::take_exec(pid_t pid) {
  const auto image = book_.executes(look_at(tools_.proc, pid), monotonic_now());
  // The new program tells of itself where the recorder can be in it.
  const Recordable can = recordable(link_to_program(pid));
  const bool tells = tools_.recorder && can == Recordable::yes && is_named_to(pid);
  if (tells && tracer_.is_traced(pid)) return tracer_.let_go(pid);
  if (!image || tells) return;
  RecordedProcess& process = book_.process(*image);
  // What it said as the program before may have been heard when it was this one already.
  process.recorded = false;
  process.traced = tracer_.is_traced(pid);
  process.unrecorded = why_unrecorded(can);
}

/// A program that starts others may give them another environment (env -i).
bool Launcher::is_named_to(pid_t pid) const {
  const auto bytes = tools_.proc.read_file(std::to_string(pid) + "/environ");
  // Nobody but the launcher asks: where it may not, the loader is trusted to.
  return !bytes || bytes->find(tools_.recorder->library()) != std::string::npos;
}

}  // namespace cudart_doctor
