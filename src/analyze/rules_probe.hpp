// The families of rules that need the probe. They run after those from facts alone.
#pragma once

#include <vector>

#include "cudart_doctor/analyze/rules.hpp"
#include "probe_causes.hpp"

namespace cudart_doctor {

/// DR01-DR07, DR09, DR11, DR12, DR14, DR15: codes with which CUDA does not start.
std::vector<Finding> judge_probe_driver(const Observations& seen, const ProbeFailures& failures);
/// DR08, DR13: the sample's images and results.
std::vector<Finding> judge_probe_kernels(const Observations& seen, const ProbeFailures& failures);
/// IP06, IP09: round trips that failed, and descriptors.
std::vector<Finding> judge_probe_ipc(const Observations& seen, const ProbeFailures& failures);
/// SY01, SY05: a genuine runtime that lacks names, or does not work.
std::vector<Finding> judge_probe_runtimes(const Observations& seen, const ProbeFailures& failures);

/// All of them, merged into `known`: what a stage confirms becomes evidence of the finding that
/// stands already.
std::vector<Finding> with_probe(const Observations& seen, std::vector<Finding> known);

}  // namespace cudart_doctor
