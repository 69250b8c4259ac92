// Holds processes in the moment before their end (PTRACE_EVENT_EXIT), whatever ends them, so that
// they can be looked at. Everything else that a traced process does goes on as if nobody watched:
// signals are passed on, stops by job control stay stops. All calls from one thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "cudart_doctor/base/result.hpp"

namespace cudart_doctor {

enum class TraceEventKind : std::uint8_t {
  exiting,   ///< It is held before its end; `status` as from wait. release() lets it end.
  ended,     ///< A child of the caller has ended and was waited for; `status` as from wait.
  executed,  ///< A traced process runs another program now; it is traced on until let_go().
  forked,    ///< A traced-from-start process made `child`, which is traced too.
};

struct TraceEvent {
  TraceEventKind kind = TraceEventKind::ended;
  pid_t pid = 0;
  int status = 0;
  pid_t child = 0;
};

class Tracer {
 public:
  /// Traces `pid` (its first thread) until its end. Errors: permission (names what forbids it:
  /// Yama, another tracer, set-ID program), gone.
  Result<void> seize(pid_t pid);
  /// The command was started traced (CommandOptions::traced): it and its children are followed.
  void adopt(pid_t pid);
  /// Waits for what has changed, without blocking (waitpid with __WALL and WNOHANG), handles
  /// signal, group and other stops by itself, and returns what the caller has to know of. Also
  /// reaps children that are not traced.
  std::vector<TraceEvent> poll();
  /// Lets a held process end.
  void release(pid_t pid);
  /// Traces `pid` no longer; it goes on.
  void let_go(pid_t pid);
  [[nodiscard]] bool is_traced(pid_t pid) const { return traced_.contains(pid); }

 private:
  std::set<pid_t> traced_;
  std::set<pid_t> followed_;  ///< Traced with their children.
  std::set<pid_t> held_;
};

}  // namespace cudart_doctor
