// No process of the probe is left: a library may fork, and what it forked outlives the child. For
// as long as this lives such orphans become our children and can be ended.
#pragma once

#include <signal.h>

#include <cstdint>
#include <set>
#include <string>

#include "cudart_doctor/sys/child_process.hpp"
#include "cudart_doctor/sys/proc_root.hpp"

namespace cudart_doctor {

class Descendants {
 public:
  /// `proc` is /proc and must outlive this. Children that exist already (of the "self" target) are
  /// not touched.
  explicit Descendants(const ProcDirectory& proc);
  Descendants(const Descendants&) = delete;
  Descendants& operator=(const Descendants&) = delete;
  /// The caller's settings again.
  ~Descendants();

  /// Kills and reaps every child that is new, then what becomes our child by that, until there is
  /// none or `end` has come.
  void end_all(SteadyTime end);

 private:
  [[nodiscard]] std::set<std::int64_t> children() const;

  const ProcDirectory& proc_;
  std::set<std::int64_t> before_;
  int was_subreaper_ = 0;
  struct sigaction child_signal_ = {};
};

}  // namespace cudart_doctor
