// In what the children's view differs from the target's: a probe proves what it saw, so each
// difference is told with the verdict.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cudart_doctor/analyze/probe_plan.hpp"
#include "cudart_doctor/model/probe.hpp"
#include "cudart_doctor/sys/proc_root.hpp"
#include "rights.hpp"

namespace cudart_doctor {

/// Namespaces (the mount namespace only where it is not entered), cgroup, seccomp, security label,
/// capabilities of a process that is not root. What cannot be read is told too.
std::vector<std::string> find_differences(const ProcDirectory& proc, const ProbeIdentity& identity);

/// "the children got /a/libcuda.so.1, the process maps /b/libcuda.so.1"; nothing where it is one.
std::optional<std::string> driver_difference(const ProbePlan& plan,
                                             const std::optional<ProbeDriver>& driver);

}  // namespace cudart_doctor
