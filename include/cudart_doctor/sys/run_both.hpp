// Two things at once: a second thread for as long as both take (docs/adr/0007).
#pragma once

#include <functional>

namespace cudart_doctor {

/// Whether the process may use a second CPU.
bool has_two_cpus();

/// Runs both and returns when they are done: `beside` on a second thread where there is a CPU and a
/// thread for it, else after `own`. Neither may touch what the other writes. What either throws is
/// thrown.
void run_both(const std::function<void()>& own, const std::function<void()>& beside);

}  // namespace cudart_doctor
