// The looks of `tree` and `--all`: which processes there are, a glance at each, a full look at
// those that hold something of CUDA; all in forked workers with one deadline.
#pragma once

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "cudart_doctor/analyze/judge.hpp"
#include "cudart_doctor/app/options.hpp"
#include "cudart_doctor/app/run.hpp"
#include "cudart_doctor/model/tree.hpp"
#include "cudart_doctor/sys/child_process.hpp"
#include "cudart_doctor/sys/supervise.hpp"
#include "tree_wire.hpp"

namespace cudart_doctor {

/// One process of the whole is given up after this, or after a sixth of --timeout if that is less.
inline constexpr std::chrono::milliseconds kProcessLimit{5'000};

struct ManyLook {
  const Options& options;
  const World& world;
  const JudgeOptions& how;
  SteadyTime end;
  std::uint64_t salt = 0;  ///< As SurveyOptions::salt.
};

/// What was seen of processes, and with --redact the names that are to be hidden.
struct ManySeen {
  TreeReport report;             ///< Grouped; not concluded.
  std::vector<Snapshot> naming;  ///< With --redact: what names of users and hosts are learned from.
};

/// Errors: not_found (no such PID, nobody listens on the port), permission, io.
Result<ManySeen> look_at_many(const ManyLook& look);

/// In a worker: one process in full. `skip` did not answer before.
ProcessAnswer judge_process(const ManyLook& look, NodeProcess process,
                            const std::set<std::string>& skip, Progress& progress);

}  // namespace cudart_doctor
