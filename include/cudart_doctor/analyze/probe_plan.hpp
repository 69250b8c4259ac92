// What a probe is to do, worked out before anything of CUDA runs: which candidates in which order,
// how their files are reached, with whose rights. Pure; the runner carries it out.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cudart_doctor/model/probe.hpp"
#include "cudart_doctor/model/report.hpp"

namespace cudart_doctor {

enum class ProbeMode : std::uint8_t { automatic, on, require, off };

/// What the user asked for on the command line.
struct ProbeRequest {
  ProbeMode mode = ProbeMode::automatic;
  bool anyway = false;       ///< --probe-anyway: beside MPS, exclusive mode, a full card.
  bool look_alikes = false;  ///< --probe-lookalikes: run them too, not only ask for symbols.
  std::vector<int> devices;  ///< --devices; empty: all visible.
  bool all_pairs = true;     ///< --pairs all|none
};

/// One candidate that the runner opens and hands to the children.
struct ProbeSubject {
  std::uint32_t candidate = 0;  ///< Index into Report::candidates.
  std::string path;             ///< In the target's view, as bytes.
  FileKey key;                  ///< What the opened file must be.
  std::uint64_t map_lo = 0;     ///< A mapping of it, for map_files; 0, 0: not mapped.
  std::uint64_t map_hi = 0;
  bool selected = false;
  bool look_alike = false;    ///< No genuine runtime: always alone.
  bool symbols_only = false;  ///< A look-alike that is not run.
  bool alone = false;         ///< Own pair at once (own run path, look-alike).
  std::string build_id;       ///< Equal ones are probed once.
  std::string skip;           ///< Why it is not run; "" : run it.
};

/// Whose rights the children take.
struct ProbeIdentity {
  std::int64_t pid = 0;  ///< The target; 0: the doctor's own rights and view.
  std::optional<std::uint32_t> uid;
  std::optional<std::uint32_t> gid;
  /// Its start time (field 22 of stat): a reused PID is refused; nothing: not compared.
  std::optional<std::uint64_t> start_ticks;
};

/// The libcuda that the target maps.
struct MappedDriver {
  FileKey key;
  std::string path;
};

struct ProbePlan {
  std::vector<ProbeSubject> subjects;  ///< The selected one first.
  ProbeIdentity identity;
  /// Of the target; empty where it could not be read, which is a difference then.
  std::vector<std::pair<std::string, std::string>> environment;
  bool environment_known = false;
  std::vector<std::string> bound_names;
  std::vector<int> devices;
  bool all_pairs = true;
  std::string no_ipc;  ///< Why legacy CUDA IPC is not tried on this platform; "": it is.
  std::optional<MappedDriver> target_driver;  ///< Another one in the children is a difference.
};

/// `report` is of the same snapshot, judged without a probe.
ProbePlan plan_probe(const Report& report, const ProbeRequest& request);

struct GateAnswer {
  ProbeDecision decision = ProbeDecision::run;
  std::string reason;  ///< Why not, one sentence.
};

/// Whether a probe may run: by what was asked for, what is here, and who uses the cards.
GateAnswer decide_probe(const Report& report, const ProbeGate& gate, const ProbeRequest& request);

}  // namespace cudart_doctor
