#include "cudart_doctor/sys/tracer.hpp"

#include <sys/ptrace.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "exit_stop.hpp"
#include "trace_stop.hpp"

namespace cudart_doctor {
namespace {

/// What a stop tells besides: the status of the end, the number of a child.
unsigned long stop_message(pid_t pid) {
  unsigned long value = 0;
  return ::ptrace(PTRACE_GETEVENTMSG, pid, 0L, &value) == 0 ? value : 0;
}

void go_on(pid_t pid) { ::ptrace(PTRACE_CONT, pid, 0L, 0L); }

}  // namespace

Result<void> Tracer::seize(pid_t pid) {
  const auto at = traced_.find(pid);
  if (at != traced_.end()) {
    Traced& traced = at->second;
    const bool stays = traced.phase == Phase::running || traced.phase == Phase::held;
    if (stays) return {};
    // Not let go yet: it stops and goes on.
    if (traced.phase == Phase::leaving && ::ptrace(PTRACE_INTERRUPT, pid, 0L, 0L) == 0) {
      traced.phase = Phase::running;
      return {};
    }
    // One that was to end and did not: another thread took its place by exec.
  }
  auto attached = attach(pid, kTraceOptions);
  if (attached) traced_[pid] = {.process = pid};
  return attached;
}

void Tracer::adopt(pid_t pid) {
  traced_[pid] = {.role = Role::followed, .process = pid, .starting = true};
}

bool Tracer::is_traced(pid_t pid) const {
  const auto at = traced_.find(pid);
  return at != traced_.end() && at->second.phase != Phase::leaving;
}

void Tracer::release(pid_t pid) {
  const auto at = traced_.find(pid);
  if (at == traced_.end() || at->second.phase != Phase::held) return;
  at->second.phase = Phase::ending;
  go_on(pid);
}

void Tracer::let_go(pid_t pid) {
  for (auto at = traced_.begin(); at != traced_.end();) {
    auto& [tid, traced] = *at;
    const bool affected = traced.process == pid;
    if (affected && traced.phase == Phase::held) {
      ::ptrace(PTRACE_DETACH, tid, 0L, 0L);
      at = traced_.erase(at);
      continue;
    }
    if (affected) {
      // Only a stopped thread can be let go. One that cannot be stopped ends, which is told.
      traced.phase = Phase::leaving;
      ::ptrace(PTRACE_INTERRUPT, tid, 0L, 0L);
    }
    ++at;
  }
}

std::vector<TraceEvent> Tracer::poll() {
  std::vector<TraceEvent> events;
  while (true) {
    int status = 0;
    const pid_t pid = ::waitpid(-1, &status, __WALL | WNOHANG | WUNTRACED);
    if (pid < 0 && errno == EINTR) continue;
    if (pid <= 0) return events;
    const auto event = WIFSTOPPED(status) ? on_stop(pid, status) : on_end(pid, status);
    if (event) events.push_back(*event);
  }
}

Tracer::Traced* Tracer::known(pid_t pid) {
  const auto at = traced_.find(pid);
  if (at != traced_.end()) return &at->second;
  // A new child may stop, and even end, before its parent tells of it.
  const auto process = process_of(pid);
  if (!process) return nullptr;
  const Role role = *process == pid ? Role::followed : Role::thread_of_followed;
  return &(traced_[pid] = {.role = role, .process = *process});
}

std::optional<TraceEvent> Tracer::on_stop(pid_t pid, int status) {
  // A new child that is followed stops with an event first, so this one is not traced.
  if (stop_event(status) == 0 && !traced_.contains(pid)) {
    return TraceEvent{.kind = TraceEventKind::stopped, .pid = pid, .status = WSTOPSIG(status)};
  }
  Traced* const found = known(pid);
  if (found == nullptr || found->phase == Phase::leaving) {
    traced_.erase(pid);
    detach(pid, status);
    return std::nullopt;
  }
  Traced& traced = *found;
  const int event = stop_event(status);
  if (event == PTRACE_EVENT_EXIT) return on_exit_stop(pid, traced);
  if (event == PTRACE_EVENT_EXEC) return on_exec(pid);
  std::optional<TraceEvent> told;
  if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE) {
    const auto child = static_cast<pid_t>(stop_message(pid));
    const Traced* const made = known(child);
    if (made != nullptr && made->role != Role::thread_of_followed) {
      told = TraceEvent{.kind = TraceEventKind::forked, .pid = traced.process, .child = child};
    }
  }
  if (is_group_stop(status) && traced.process == pid) {
    told = TraceEvent{.kind = TraceEventKind::stopped, .pid = pid, .status = WSTOPSIG(status)};
  }
  pass_stop_on(pid, status);
  return told;
}

std::optional<TraceEvent> Tracer::on_exit_stop(pid_t pid, Traced& traced) {
  if (traced.role == Role::thread_of_followed) {
    go_on(pid);
    return std::nullopt;
  }
  const int status = static_cast<int>(stop_message(pid));
  const ExitStop meaning = look_at_exit(pid);
  if (meaning == ExitStop::other_exec) {
    // Its memory goes with it, and exec waits for it: no time to look. Of a followed process the
    // other thread is traced too and will tell of its exec itself.
    const bool followed = traced.role == Role::followed;
    if (!followed) traced_.erase(pid);
    go_on(pid);
    if (followed) return std::nullopt;
    return TraceEvent{.kind = TraceEventKind::executed, .pid = pid};
  }
  traced.phase = Phase::held;
  return TraceEvent{.kind = TraceEventKind::exiting,
                    .pid = pid,
                    .status = status,
                    .others_live = meaning == ExitStop::first_thread};
}

std::optional<TraceEvent> Tracer::on_exec(pid_t pid) {
  // The thread that called exec has the process's number now, and is its only thread.
  const auto former = static_cast<pid_t>(stop_message(pid));
  if (former != pid) traced_.erase(former);
  Traced& traced = traced_[pid];
  traced.process = pid;
  traced.phase = Phase::running;
  if (traced.role == Role::thread_of_followed) traced.role = Role::followed;
  const bool start = std::exchange(traced.starting, false);
  go_on(pid);
  if (start) return std::nullopt;
  return TraceEvent{.kind = TraceEventKind::executed, .pid = pid};
}

std::optional<TraceEvent> Tracer::on_end(pid_t pid, int status) {
  const auto at = traced_.find(pid);
  const bool thread = at != traced_.end() && at->second.role == Role::thread_of_followed;
  if (at != traced_.end()) traced_.erase(at);
  if (thread) return std::nullopt;
  return TraceEvent{.kind = TraceEventKind::ended, .pid = pid, .status = status};
}

}  // namespace cudart_doctor
