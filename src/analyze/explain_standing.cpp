// Whether a cause is confirmed by an inspection, not found, or could not be seen. A finding that is
// missing clears nothing unless everything that could have raised it was looked at.
#include <algorithm>
#include <array>
#include <string>

#include "cudart_doctor/analyze/explain.hpp"
#include "cudart_doctor/analyze/timeline.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

/// What a finding is judged by; the bits of Needs.
enum Need : std::uint32_t {
  kObjects = 1U << 0U,      ///< Every mapped library, and what each is.
  kStatic = 1U << 1U,       ///< The search for runtimes inside other objects.
  kPaths = 1U << 2U,        ///< Files that a rule or the loader would look at.
  kCache = 1U << 3U,        ///< The loader's cache.
  kPackages = 1U << 4U,     ///< The Python directories: which consumers are installed.
  kRules = 1U << 5U,        ///< What opening a rule's answer would give.
  kEnvironment = 1U << 6U,  ///< The process's variables.
  kModule = 1U << 7U,       ///< The kernel module's version.
  kProbe = 1U << 8U,
  kTwoCards = 1U << 9U,
  kPeer = 1U << 10U,
  kLaterVariables = 1U << 11U,  ///< Variables that the program set itself, since its start.
};

struct NeedsRow {
  std::string_view finding;
  std::uint32_t needs = 0;
};

constexpr std::uint32_t kSearch = kPaths | kCache | kEnvironment;

constexpr std::array kNeeds{
    NeedsRow{"DR01", kObjects | kSearch},
    NeedsRow{"DR02", kSearch | kProbe},
    NeedsRow{"DR03", kSearch | kProbe},
    NeedsRow{"DR04", kObjects | kSearch | kModule},
    NeedsRow{"DR05", kObjects | kSearch | kModule},
    NeedsRow{"DR06", kProbe},
    NeedsRow{"DR07", kProbe},
    NeedsRow{"DR08", kProbe},
    NeedsRow{"DR09", kProbe},
    NeedsRow{"DR10", kObjects | kModule | kProbe},
    NeedsRow{"DR11", kProbe},
    NeedsRow{"DR12", kEnvironment | kProbe},
    NeedsRow{"DR13", kProbe},
    NeedsRow{"DR14", kEnvironment | kLaterVariables | kProbe},
    NeedsRow{"DR15", kProbe},
    NeedsRow{"IP01", kEnvironment | kLaterVariables},
    NeedsRow{"IP02", kPeer},
    NeedsRow{"IP03", kPeer},
    NeedsRow{"IP04", 0},
    NeedsRow{"IP05", kProbe},
    NeedsRow{"IP06", kProbe | kTwoCards},
    NeedsRow{"IP07", kPeer},
    NeedsRow{"IP08", kObjects | kEnvironment},
    NeedsRow{"IP09", kProbe},
    NeedsRow{"MP01", kObjects},
    NeedsRow{"MP02", kObjects},
    NeedsRow{"MP03", kObjects},
    NeedsRow{"MP04", 0},
    NeedsRow{"MP05", kObjects},
    NeedsRow{"MP06", kObjects},
    NeedsRow{"MP07", kObjects},
    NeedsRow{"MP08", 0},
    NeedsRow{"RT01", kObjects | kStatic},
    NeedsRow{"RT02", kObjects | kStatic},
    NeedsRow{"RT03", kObjects},
    NeedsRow{"RT04", kObjects | kPackages | kRules},
    NeedsRow{"RT05", kObjects},
    NeedsRow{"RT06", kObjects | kSearch},
    NeedsRow{"RT07", kObjects | kPackages | kRules},
    NeedsRow{"RT08", kObjects | kPackages | kRules},
    NeedsRow{"RT09", kObjects | kSearch},
    NeedsRow{"RT10", kObjects},
    NeedsRow{"RT11", kEnvironment | kPackages},
    NeedsRow{"RT12", kObjects | kSearch},
    NeedsRow{"SY01", kObjects},
    NeedsRow{"SY02", kObjects | kSearch},
    NeedsRow{"SY03", kObjects | kSearch},
    NeedsRow{"SY04", kObjects},
    NeedsRow{"SY05", kObjects | kProbe},
    NeedsRow{"SY06", kObjects | kRules},
};

/// A finding without a row needs all that does not take a second process.
std::uint32_t needs_of(std::string_view finding) {
  const auto* const row = std::ranges::find_if(
      kNeeds, [finding](const NeedsRow& each) { return each.finding == finding; });
  return row == kNeeds.end() ? kObjects | kSearch : row->needs;
}

std::string objects_unseen(const Report& report) {
  const Snapshot& snapshot = report.snapshot;
  if (snapshot.maps.rows.empty()) return "no mapping could be read";
  if (!snapshot.capture.unread.empty()) {
    return count_of(snapshot.capture.unread.size(), "mapped library", "mapped libraries") +
           " could not be read";
  }
  if (!snapshot.capture.maps_consistent) return "the mappings did not hold still";
  for (const Candidate& candidate : report.candidates) {
    if (candidate.loaded && candidate.kind == RuntimeKind::undetermined) {
      return "what " + escape_foreign(base_name(candidate.path)) + " is could not be determined";
    }
  }
  return {};
}

std::string paths_unseen(const Report& report) {
  for (const auto& [path, entry] : report.snapshot.disk) {
    if (entry.kind == DiskKind::unreadable) return escape_foreign(path) + " could not be read";
  }
  return {};
}

std::string rules_unseen(const Report& report) {
  for (const Selection& selection : report.selections) {
    const bool open =
        selection.open == OpenOutcome::unknown || selection.outcome == Outcome::undetermined;
    // No finding follows from what is opened for others only.
    if (open && !selection.preload && selection.presence != Presence::absent) {
      return "what " + escape_foreign(selection.title) + " would open could not be told";
    }
  }
  return {};
}

std::string probe_unseen(const Report& report) {
  switch (report.probe_verdict.outcome) {
    case ProbeOutcome::works: return {};
    case ProbeOutcome::not_run: {
      const ProbeFacts& probe = report.snapshot.probe;
      if (report.snapshot.recording.is_known()) {
        return "no probe ran (run probes nothing; --pid PID --probe on does)";
      }
      return probe.decision == ProbeDecision::not_asked || probe.reason.empty()
                 ? "no probe ran (--probe on)"
                 : "no probe ran: " + probe.reason;
    }
    case ProbeOutcome::does_not:
    case ProbeOutcome::not_confirmed: break;
  }
  return "the probe did not see all of it: " + report.probe_verdict.sentence;
}

std::string peer_unseen(const Report& report) {
  if (report.snapshot.peers.empty()) return "no peer was named (--peer PID)";
  for (const PeerFacts& peer : report.snapshot.peers) {
    if (peer.ns_pids.empty() || !peer.namespaces.contains("pid")) {
      return "the namespaces of peer " + std::to_string(peer.pid) + " could not be read";
    }
    if (!peer.rights.device_nodes.is_known()) {
      return "the device nodes of peer " + std::to_string(peer.pid) + ": " +
             peer.rights.device_nodes.reason();
    }
  }
  if (!report.snapshot.process.rights.device_nodes.is_known()) {
    return "the process's device nodes: " + report.snapshot.process.rights.device_nodes.reason();
  }
  return {};
}

template <typename T>
std::string fact_unseen(std::string_view what, const Fact<T>& fact) {
  return fact.is_known() ? std::string() : std::string(what) + ": " + fact.reason();
}

std::string unseen_by(Need need, const Report& report) {
  const Snapshot& snapshot = report.snapshot;
  switch (need) {
    case kObjects: return objects_unseen(report);
    case kStatic:
      return snapshot.capture.static_skipped == 0
                 ? std::string()
                 : count_of(snapshot.capture.static_skipped, "object") +
                       " not searched for static runtimes (--deep)";
    case kPaths: return paths_unseen(report);
    case kCache: return fact_unseen("the loader's cache", snapshot.loader.cache);
    case kPackages:
      return snapshot.python.unread_directories.empty() ? std::string()
                                                        : "a Python directory could not be read";
    case kRules: return rules_unseen(report);
    case kEnvironment: return fact_unseen("the environment", snapshot.environment);
    case kModule: return fact_unseen("the kernel module", snapshot.host.kernel_module);
    case kProbe: return probe_unseen(report);
    case kTwoCards:
      return snapshot.probe.devices.size() < 2 ? "fewer than two cards were probed" : "";
    case kPeer: return peer_unseen(report);
    case kLaterVariables: {
      const Environment* environment = snapshot.environment.get();
      return environment != nullptr && environment->origin == EnvironmentOrigin::at_exec
                 ? "not set when the program started; what it set itself since is not seen"
                 : "";
    }
  }
  return {};
}

std::string_view word_of(Severity severity) {
  switch (severity) {
    case Severity::info: return "info";
    case Severity::warning: return "warning";
    case Severity::error: return "error";
    case Severity::critical: return "critical";
  }
  return {};
}

}  // namespace

Standing standing_of(std::string_view finding, const Report& report) {
  if (find_entry(finding) == nullptr) {
    return {StandingKind::unchecked, "no finding stands for this cause"};
  }
  // Gravest first: of several findings of one id the first one counts.
  const auto found = std::ranges::find(report.findings, finding, &Finding::id);
  if (found != report.findings.end()) {
    return {found->severity == Severity::info ? StandingKind::noted : StandingKind::confirmed,
            std::string(word_of(found->severity)) + ": " + found->headline};
  }
  if (report.snapshot.environment_only) {
    return {StandingKind::unseen, "no program was started, only an environment was looked at"};
  }
  if (nobody_judged(report.snapshot)) {
    return {StandingKind::unseen,
            report.snapshot.recording.get()->events.empty()
                ? "no CUDA library was loaded by the command"
                : "no process of the command held a CUDA library when it could be judged"};
  }
  const std::uint32_t needs = needs_of(finding);
  for (std::uint32_t bit = kObjects; bit <= kLaterVariables; bit <<= 1U) {
    if ((needs & bit) == 0) continue;
    std::string reason = unseen_by(static_cast<Need>(bit), report);
    if (!reason.empty()) return {StandingKind::unseen, std::move(reason)};
  }
  return {StandingKind::not_found, {}};
}

}  // namespace cudart_doctor
