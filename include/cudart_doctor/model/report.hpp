// Report: the snapshot, what was concluded from it, and the verdict. Renderers read nothing else.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cudart_doctor/model/candidate.hpp"
#include "cudart_doctor/model/exit_style.hpp"
#include "cudart_doctor/model/finding.hpp"
#include "cudart_doctor/model/probe_verdict.hpp"
#include "cudart_doctor/model/provenance.hpp"
#include "cudart_doctor/model/selection.hpp"
#include "cudart_doctor/model/snapshot.hpp"
#include "cudart_doctor/model/timeline.hpp"

namespace cudart_doctor {

struct Verdict {
  std::optional<Severity> worst;  ///< Of the findings that count; nothing when there is none.
  Severity fail_on = Severity::error;
  RunEnd end = RunEnd::ok;  ///< Never `usage`: what was concluded, whatever the exit code says.
  ExitStyle exit_style = ExitStyle::standard;
  int exit_code = 0;      ///< Of `end` in `exit_style`; the same in every format.
  std::string undecided;  ///< What could not be seen and leaves the verdict open.
};

/// What became of the findings that were to be allowed; printable sentences.
struct Allowances {
  std::vector<std::string> ended;   ///< "--allow RT06 ended 2026-11-01": the finding counts again.
  std::vector<std::string> unused;  ///< "--allow RT06": no such finding.
};

struct Report {
  Snapshot snapshot;
  std::vector<Candidate> candidates;   ///< Mapped ones by address, then installed ones by path.
  std::vector<Provenance> provenance;  ///< One for each candidate, in their order.
  std::vector<GlobalName> global_names;
  std::vector<Companion> companions;
  /// A load of libcuda.so.1 is known to find nothing, and none is mapped.
  bool driver_absent = false;
  std::vector<Consumer> consumers;
  std::vector<Selection> selections;  ///< In the order of the policy table.
  std::string headline_policy;        ///< Id of the rule that the headline follows.
  std::string
      headline_note;  ///< "assumed: no consumer was found", "FlashInfer 0.6.14 is installed"
  /// Those that count, gravest first, then the allowed ones; the order is total.
  std::vector<Finding> findings;
  Allowances allowances;
  ProbeVerdict probe_verdict;
  Timeline timeline;  ///< Of the snapshot's recording; empty where there is none.
  Verdict verdict;
};

}  // namespace cudart_doctor
