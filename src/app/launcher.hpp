// The event loop of `run`: hears the recorder, holds processes before their end, has them judged,
// and passes on to the command what is the command's.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cudart_doctor/analyze/judge.hpp"
#include "cudart_doctor/app/launch_book.hpp"
#include "cudart_doctor/app/launch_exit.hpp"
#include "cudart_doctor/app/launch_look.hpp"
#include "cudart_doctor/app/options.hpp"
#include "cudart_doctor/app/ready.hpp"
#include "cudart_doctor/app/run.hpp"
#include "cudart_doctor/sys/command_child.hpp"
#include "cudart_doctor/sys/output_watch.hpp"
#include "cudart_doctor/sys/process_tree.hpp"
#include "cudart_doctor/sys/recorder_channel.hpp"
#include "cudart_doctor/sys/recorder_files.hpp"
#include "cudart_doctor/sys/signal_relay.hpp"
#include "cudart_doctor/sys/tracer.hpp"
#include "judge_desk.hpp"

namespace cudart_doctor {

/// What was made ready before the command is started.
struct LaunchTools {
  ProcDirectory proc;
  SignalRelay relay;
  std::optional<RecorderFiles> recorder;  ///< Nothing where it could not be laid.
  std::optional<OutputWatch> output;      ///< For --ready-when output: only.
};

/// Why the recorder is not in a program.
std::string why_unrecorded(Recordable recordable);

class Launcher {
 public:
  /// All of them have to outlive this.
  Launcher(const Options& options, const World& world, const JudgeOptions& how, LaunchTools& tools);

  /// `started` is the command, in which the recorder is or is not. Runs until it has ended and the
  /// report is written; the exit code.
  int watch(StartedCommand started, Recordable recordable, LaunchBook book);

 private:
  enum class Phase : std::uint8_t {
    watching,    ///< Nothing is decided yet.
    concluding,  ///< The last looks are under way.
    reporting,   ///< The report is being written.
    keeping,     ///< It is written; the command goes on.
    ending,      ///< The command was asked to end, and is killed if it does not.
    over,
  };
  /// What is known of an image beside the book.
  struct Watch {
    bool asked_to_trace = false;
    bool checks_leaks = false;  ///< LeakSanitizer traces the process at its end.
    bool traced = false;
    std::string executable_now;  ///< As the last look found it.
    /// Of one with the recorder, which may have lost its way to the launcher: by a change of
    /// rights, of its root, by a filter of system calls.
    bool was_clean = false;  ///< A look found nothing of the CUDA family in it.
    bool suspect = false;    ///< It maps what it has not told of; it may be about to.
    bool silent = false;     ///< It has not told in time.
    bool cut_off = false;    ///< It could not open the socket any more.
    SteadyTime next_maps;
    std::chrono::milliseconds pause{0};
  };
  enum class Depth : std::uint8_t {
    usual,  ///< What is due.
    all,    ///< Nothing is looked at behind this.
  };

  void wait();
  void tend();
  void step();

  /// A part of what recorders have sent, of each. False: there was nothing.
  bool take_packets();
  /// All that they have sent: a recorder that wrote faster than it was heard has several
  /// connections full of it. False: more still came after a second.
  bool hear_rest();
  void take_record(const RecorderPacket& packet, const WireRecord& record);
  std::optional<ImageId> image_for(const RecorderPacket& packet, const WireRecord& record);
  void take_sync(ImageId image, const RecorderPacket& packet);
  bool trace(ImageId image, pid_t pid);

  void meet_command(Recordable recordable);
  void take_event(const TraceEvent& event);
  void take_exit(const TraceEvent& event);
  void take_exec(pid_t pid);
  [[nodiscard]] bool is_named_to(pid_t pid) const;
  /// One look at a process, in a child of the launcher's; write_judgement's bytes.
  [[nodiscard]] std::string look(pid_t pid, int memory) const;
  void settle(JudgeAnswer answer);
  void forget_lighter_ones();

  /// Those of the command that live.
  std::vector<TreeProcess> own_processes() const;
  void look_around(Depth depth);
  void look_closer(const TreeProcess& process, Depth depth);
  /// Whether its maps may have what its recorder did not tell of.
  [[nodiscard]] bool is_due(ImageId image, Depth depth);
  void look_at_recorded(ImageId image, const MapsLook& look, Depth depth);
  void check_way(ImageId image);
  [[nodiscard]] bool is_copy(ImageId image);
  /// The process that a copy was forked from, over other copies.
  [[nodiscard]] std::int64_t origin_of(const RecordedProcess& copy) const;
  void found_unrecorded(ImageId image, pid_t pid);

  void judge_living(JudgeMoment moment);
  void fire_gate();
  void begin_ending(std::chrono::seconds patience);
  void tend_ending();
  void begin_report();
  void tend_report();
  void say_why_not_judged();
  [[nodiscard]] const Judgement* gravest();

  const Options& options_;
  const World& world_;
  const JudgeOptions& how_;
  LaunchTools& tools_;
  const LaunchRequest& request_;
  std::optional<RecorderChannel> channel_;
  Tracer tracer_;
  JudgeDesk desk_;
  ReadyWatch ready_;
  LaunchBook book_{{}, 0};
  StartedCommand command_;  ///< PID 0 once it was waited for.
  pid_t root_pid_ = 0;
  Phase phase_ = Phase::watching;
  LaunchEnd end_;
  bool command_ended_ = false;
  std::map<ImageId, Watch> watches_;
  std::map<ImageId, Judgement> judgements_;
  std::set<pid_t> held_;  ///< In the moment before their end.
  std::optional<ForkedJob> report_;
  pid_t report_pid_ = 0;  ///< Of its child, until that was waited for.
  SteadyTime next_look_;
  SteadyTime kill_at_;
  SteadyTime give_up_at_;
  std::uint64_t foreign_ = 0;  ///< Records of processes that are none of the command's.
};

}  // namespace cudart_doctor
