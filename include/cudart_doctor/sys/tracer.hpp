// Holds processes in the moment before their end (PTRACE_EVENT_EXIT), whatever ends them, so that
// they can be looked at: return from main, exit, _exit of any thread, a signal, SIGKILL too (Linux
// 6.18 stops for it; a kernel that does not ends the process without `exiting`). A core file is
// written before. Everything else that a traced process does goes on as if nobody watched: signals
// are passed on, stops by job control stay stops. When the tracer itself ends, the kernel lets all
// of them go on. All calls from one thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "cudart_doctor/base/result.hpp"

namespace cudart_doctor {

enum class TraceEventKind : std::uint8_t {
  /// It is held before its end and its memory can be read; `status` as from wait. release() lets it
  /// end. `others_live`: only its first thread ends (pthread_exit in main); the process lives on,
  /// untraced, and its memory cannot be read by its own PID any more after release().
  exiting,
  /// A child of the caller, traced or not, or a traced process has ended and was waited for;
  /// `status` as from wait. A traced orphan that its parent never waited for may come twice.
  ended,
  /// A traced process runs another program now. It is traced on until let_go(); not where another
  /// of its threads than the traced one called exec: is_traced() tells.
  executed,
  forked,  ///< A followed process made `child`, which is followed too.
  /// A child of the caller, traced or not, or a traced process was stopped by job control; `status`
  /// is the signal.
  stopped,
};

struct TraceEvent {
  TraceEventKind kind = TraceEventKind::ended;
  pid_t pid = 0;
  int status = 0;
  pid_t child = 0;
  bool others_live = false;
};

class Tracer {
 public:
  /// Traces `pid` (its first thread) until its end; nothing new where it is traced already. Errors:
  /// permission (names what forbids it: Yama, another tracer, another user's or a set-ID program),
  /// gone, io.
  Result<void> seize(pid_t pid);
  /// The command was started traced (StartedCommand::traced): it and its children are followed, all
  /// their threads too. Its own start is no event.
  void adopt(pid_t pid);
  /// Waits for what has changed, without blocking (waitpid with __WALL, WNOHANG and WUNTRACED),
  /// handles signal, group and other stops by itself, and returns what the caller has to know of.
  /// Also reaps children that are not traced. To be called at every SIGCHLD.
  std::vector<TraceEvent> poll();
  /// Lets a held process end.
  void release(pid_t pid);
  /// Traces `pid` no longer; it goes on. A running one is let go in a later poll().
  void let_go(pid_t pid);
  [[nodiscard]] bool is_traced(pid_t pid) const;

 private:
  enum class Role : std::uint8_t { process, followed, thread_of_followed };
  enum class Phase : std::uint8_t { running, held, ending, leaving };
  struct Traced {
    Role role = Role::process;
    Phase phase = Phase::running;
    pid_t process = 0;      ///< That it belongs to; its own number but for threads.
    bool starting = false;  ///< Its next exec is its start.
  };

  Traced* known(pid_t pid);
  std::optional<TraceEvent> on_stop(pid_t pid, int status);
  std::optional<TraceEvent> on_exit_stop(pid_t pid, Traced& traced);
  std::optional<TraceEvent> on_exec(pid_t pid);
  std::optional<TraceEvent> on_end(pid_t pid, int status);

  std::map<pid_t, Traced> traced_;
};

}  // namespace cudart_doctor
