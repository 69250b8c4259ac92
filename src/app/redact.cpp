#include "cudart_doctor/app/redact.hpp"

#include <algorithm>
#include <cstdlib>

namespace cudart_doctor {
namespace {

/// Candidates on disk are sorted by path, and stand-ins sort differently.
std::uint32_t place_now(const Report& before, const Report& now, const ProbedRuntime& probed) {
  if (probed.candidate >= before.candidates.size()) return probed.candidate;
  const Candidate& old = before.candidates[probed.candidate];
  const auto found =
      std::find_if(now.candidates.begin(), now.candidates.end(), [&](const Candidate& each) {
        if (each.object != old.object || each.kind != old.kind) return false;
        return each.object || each.path == probed.path;
      });
  return found == now.candidates.end() ? probed.candidate
                                       : static_cast<std::uint32_t>(found - now.candidates.begin());
}

}  // namespace

Report redacted_report(const Report& report, Anonymizer& names, const JudgeOptions& options) {
  Report out = identify(names.replaced(report.snapshot), options);
  for (ProbedRuntime& probed : out.snapshot.probe.runtimes) {
    probed.candidate = place_now(report, out, probed);
  }
  return out;
}

std::string redacted_message(std::string_view message) {
  Environment own;
  for (const char* const name : {"USER", "LOGNAME", "USERNAME", "SUDO_USER", "HOME"}) {
    if (const char* const value = std::getenv(name)) own.variables.emplace_back(name, value);
  }
  Anonymizer names;
  names.learn_users(own);
  names.learn(message);
  return names.replaced(message);
}

}  // namespace cudart_doctor
