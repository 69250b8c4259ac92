// IP04, IP06, IP09 by the probe: round trips between two processes that failed.
#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "cudart_doctor/base/text.hpp"
#include "probe_view.hpp"
#include "rules_probe.hpp"

namespace cudart_doctor {
namespace {

constexpr int kNotSupported = 801;

/// One cause shows in every runtime alike: equal steps with equal codes are one finding.
using Step = std::tuple<Stage, ProbeSide, std::optional<int>, StageOutcome>;

Step step_of(const ProbeFailure& failure) {
  const StageResult& stage = *failure.stage;
  return {stage.stage, stage.side, stage.code, stage.outcome};
}

std::string what_failed(const StageResult& stage) {
  if (stage.outcome == StageOutcome::begun) {
    return "a child crashed or hung in " + std::string(stage_name(stage.stage));
  }
  if (stage.code) {
    return (stage.call.empty() ? std::string(stage_name(stage.stage)) : told(stage.call)) +
           " gave " + shown_code(*stage.code, stage.call);
  }
  return "the data was wrong in " + std::string(stage_name(stage.stage));
}

std::vector<std::string> fixes_for(const StageResult& stage) {
  if (stage.stage == Stage::ipc_event && stage.code == 205) {
    return {"Let both processes share /dev/shm (one IPC namespace, or the same mount)"};
  }
  if (stage.code == 208) {
    return {"Restart both processes: a handle of a damaged or freed allocation was opened"};
  }
  return {"Turn custom all-reduce off meanwhile (vLLM and SGLang: --disable-custom-all-reduce)",
          "Repeat without preloaded libraries; then with another driver version"};
}

std::string effect_of(const StageResult& stage) {
  return stage.stage == Stage::ipc_event
             ? "tensors that PyTorch passes between processes wait for events that never come"
             : "custom all-reduce of vLLM and SGLang cannot be set up, or computes wrong results";
}

std::vector<Finding> judge_round_trips(const Observations& seen, const ProbeFailures& failures) {
  std::set<Step> done;
  std::vector<Finding> out;
  for (const ProbeFailure& failure : failures) {
    if (!done.insert(step_of(failure)).second) continue;
    ProbeFailures alike;
    std::copy_if(failures.begin(), failures.end(), std::back_inserter(alike),
                 [&](const ProbeFailure& other) { return step_of(other) == step_of(failure); });
    const StageResult& stage = *failure.stage;
    Finding finding = start_finding("IP09", Severity::error,
                                    "The CUDA IPC round trip fails: " + what_failed(stage) + ".");
    finding.effect = effect_of(stage);
    finding.evidence = failure_evidence(seen, alike);
    finding.fixes = fixes_for(stage);
    out.push_back(std::move(finding));
  }
  return out;
}

/// The driver starts, so what a descriptor's way meets is a fault of its own. A refusal by the
/// system (errno) is a matter of rights, and none of the round trip.
std::vector<Finding> judge_mechanisms(const Observations& seen, const ProbeFailures& failures) {
  const bool is_explained = std::any_of(failures.begin(), failures.end(), [](const auto& failure) {
    return failure.finding.starts_with("DR") && failure.finding != "DR08";
  });
  if (is_explained) return {};
  std::vector<Finding> out;
  for (const Mechanism mechanism : {Mechanism::vmm_socket, Mechanism::vmm_pidfd}) {
    const MechanismResult* tried = find_mechanism(seen.snapshot.probe, mechanism);
    if (tried == nullptr || !is_failed(tried->outcome) || tried->error.value_or(0) != 0) continue;
    // No virtual memory management in this driver or platform: nothing is broken.
    if (tried->code == kNotSupported || !seen.snapshot.host.no_ipc_sign.empty()) continue;
    std::string what =
        tried->outcome == StageOutcome::begun ? "it never ended" : "the data was wrong";
    if (tried->code) {
      what = (tried->call.empty() ? "it" : told(tried->call)) + " gave " +
             shown_code(*tried->code, tried->call);
    }
    const bool socket = mechanism == Mechanism::vmm_socket;
    // The same memory by the same calls: only the way of the descriptor differs.
    if (!socket && !out.empty()) {
      out.front().evidence.push_back("By pidfd_getfd as well: " + what);
      continue;
    }
    Finding finding =
        start_finding("IP09", Severity::error,
                      std::string("Memory cannot be shared by a descriptor ") +
                          (socket ? "over a socket: " : "taken by pidfd_getfd: ") + what + ".");
    finding.effect = socket ? "FlashInfer's all-reduce workspace cannot be set up"
                            : "PyTorch's expandable segments cannot be shared between processes";
    finding.evidence.push_back("Mechanism " + std::string(mechanism_name(mechanism)) + ", device " +
                               std::to_string(tried->device) + ": " + what +
                               (tried->detail.empty() ? "" : "; " + told(tried->detail)));
    for (std::string& note : failure_evidence(seen, {}))
      finding.evidence.push_back(std::move(note));
    finding.fixes = {"Repeat on an idle card; then with another driver version"};
    out.push_back(std::move(finding));
  }
  return out;
}

std::vector<Finding> judge_peers_of_card(const Observations& seen, const ProbeFailures& failures) {
  if (failures.empty()) return {};
  std::set<std::pair<int, int>> pairs;
  for (const ProbeFailure& failure : failures) {
    pairs.emplace(failure.stage->device, failure.stage->peer_device);
  }
  std::vector<std::string> shown_pairs;
  for (const auto& [from, to] : pairs) {
    shown_pairs.push_back(std::to_string(from) + " to " + std::to_string(to));
  }
  Finding finding = start_finding(
      "IP06", Severity::error,
      "Cards do not reach each other's memory: " + count_of(pairs.size(), "pair") + " failed.");
  finding.evidence = failure_evidence(seen, failures);
  finding.evidence.push_back("Failing pairs: " + join(shown_pairs, ", "));
  finding.fixes = {"See nvidia-smi topo -p2p r, the IOMMU and ACS settings, and the BAR size",
                   "Or turn custom all-reduce off (vLLM and SGLang: --disable-custom-all-reduce)"};
  finding.no_help = {"A \"can access peer\" answer of yes: it proves nothing"};
  return {std::move(finding)};
}

std::vector<Finding> judge_unsupported(const Observations& seen, const ProbeFailures& failures) {
  // With a sign of WSL2 or Tegra the finding stands already.
  if (failures.empty() || !seen.snapshot.host.no_ipc_sign.empty()) return {};
  Finding finding =
      start_finding("IP04", Severity::error, "The driver says that it has no CUDA IPC here (801).");
  finding.evidence = failure_evidence(seen, failures);
  finding.fixes = {"Turn custom all-reduce off (vLLM and SGLang: --disable-custom-all-reduce)"};
  return {std::move(finding)};
}

}  // namespace

std::vector<Finding> judge_probe_ipc(const Observations& seen, const ProbeFailures& failures) {
  std::vector<Finding> out = judge_unsupported(seen, explained_by(failures, "IP04"));
  append_findings(out, judge_peers_of_card(seen, explained_by(failures, "IP06")));
  append_findings(out, judge_round_trips(seen, explained_by(failures, "IP09")));
  append_findings(out, judge_mechanisms(seen, failures));
  return out;
}

}  // namespace cudart_doctor
