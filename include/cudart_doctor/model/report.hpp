// Report: the snapshot, what was concluded from it, and the verdict. Renderers read nothing else.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cudart_doctor/model/candidate.hpp"
#include "cudart_doctor/model/finding.hpp"
#include "cudart_doctor/model/probe_verdict.hpp"
#include "cudart_doctor/model/provenance.hpp"
#include "cudart_doctor/model/selection.hpp"
#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

struct Verdict {
  std::optional<Severity> worst;  ///< Of all findings; nothing when there is none.
  Severity fail_on = Severity::error;
  int exit_code = 0;      ///< 0, 1 or 3; the same in every format.
  std::string undecided;  ///< Why exit 3: what could not be seen.
};

struct Report {
  Snapshot snapshot;
  std::vector<Candidate> candidates;   ///< Mapped ones by address, then installed ones by path.
  std::vector<Provenance> provenance;  ///< One for each candidate, in their order.
  std::vector<GlobalName> global_names;
  std::vector<Companion> companions;
  std::vector<Consumer> consumers;
  std::vector<Selection> selections;  ///< In the order of the policy table.
  std::string headline_policy;        ///< Id of the rule that the headline follows.
  std::string
      headline_note;  ///< "assumed: no consumer was found", "FlashInfer 0.6.14 is installed"
  std::vector<Finding> findings;  ///< Gravest first; the order is total.
  ProbeVerdict probe_verdict;
  Verdict verdict;
};

}  // namespace cudart_doctor
