// No process of the probe is left: a library may fork, and what it forked outlives the child. For
// as long as this lives such orphans become our children and can be ended; a signal that would end
// us (Ctrl-C, the death of our parent) waits until they are.
#pragma once

#include <signal.h>

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "cudart_doctor/sys/child_process.hpp"
#include "cudart_doctor/sys/proc_root.hpp"

namespace cudart_doctor {

/// A variable ("NAME=VALUE") that is not to be guessed, so that nobody else's process carries it;
/// "" where the kernel has no random number.
std::string make_mark();

class Descendants {
 public:
  /// `proc` is /proc and must outlive this. Children that exist already (of the "self" target) are
  /// not touched.
  explicit Descendants(const ProcDirectory& proc);
  Descendants(const Descendants&) = delete;
  Descendants& operator=(const Descendants&) = delete;
  /// The caller's settings again; then the signal that was held back, if one came.
  ~Descendants();

  /// A signal asks us to end: stop waiting, end everything.
  [[nodiscard]] static bool interrupted();

  /// Kills and reaps every child that is new, then what becomes our child by that, until there is
  /// none (true) or `end` has come: a loaded machine needs its time to let a killed process go.
  bool end_all(SteadyTime end);

  /// `variable` ("NAME=VALUE") stands in the environment of every process of the probe: end_all
  /// then finds them by it too. Orphans in another PID namespace never become our children.
  void know_by(std::string variable) { mark_ = std::move(variable); }

 private:
  [[nodiscard]] std::set<std::int64_t> children() const;
  /// Sends SIGKILL to every process that carries the mark; whether there was one.
  bool kill_marked() const;

  const ProcDirectory& proc_;
  std::set<std::int64_t> before_;
  std::string mark_;
  int was_subreaper_ = 0;
  struct sigaction child_signal_ = {};
  std::array<struct sigaction, 4> ending_ = {};  ///< Of the signals that are held back.
  int parent_death_signal_ = 0;
};

}  // namespace cudart_doctor
