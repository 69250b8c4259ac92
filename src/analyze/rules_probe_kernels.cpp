// DR08, DR13 by the probe: whether a card runs the sample's kernels, and whether rightly.
#include <algorithm>
#include <set>
#include <utility>

#include "cudart_doctor/base/text.hpp"
#include "probe_view.hpp"
#include "rules_probe.hpp"

namespace cudart_doctor {
namespace {

bool has_code(const ProbeFailures& failures, int code) {
  return std::any_of(failures.begin(), failures.end(),
                     [code](const ProbeFailure& failure) { return failure.stage->code == code; });
}

/// "passes", "209 (...)", "not tried": a stage of a device over all runtimes, failures first.
std::string result_of(const ProbeFacts& probe, Stage stage, int device) {
  std::string answer = "not tried";
  for (const ProbedRuntime& runtime : probe.runtimes) {
    for (const StageResult& result : runtime.stages) {
      if (result.stage != stage || result.device != device) continue;
      if (is_failed(result.outcome))
        return result.code ? shown_code(*result.code, result.call) : "fails";
      if (result.outcome == StageOutcome::pass) answer = "passes";
    }
  }
  return answer;
}

std::string image_facts(const ProbeFacts& probe, const ProbeDevice& device) {
  std::string text = "Device " + std::to_string(device.ordinal) + ", " + told(device.name) +
                     ", compute capability " + std::to_string(device.capability_major) + "." +
                     std::to_string(device.capability_minor) + ": ";
  text += "image of the sample " + result_of(probe, Stage::kernels, device.ordinal);
  if (!device.image.empty()) text += " as " + told(device.image);
  return text + ", PTX alone " + result_of(probe, Stage::ptx, device.ordinal);
}

/// Every failure is one of the driver's compiler, and machine code passed.
bool only_ptx_fails(const ProbeFailures& failures) {
  return std::all_of(failures.begin(), failures.end(), [](const ProbeFailure& failure) {
    return failure.stage->stage == Stage::ptx;
  });
}

std::vector<Finding> judge_images(const Observations& seen, const ProbeFailures& failures) {
  const ProbeFailures mine = explained_by(failures, "DR08");
  if (mine.empty()) return {};
  const bool forbidden = has_code(mine, 223);
  const bool no_compiler = has_code(mine, 221);
  const bool ptx_only = only_ptx_fails(mine);
  std::string headline = "No image of the sample kernel fits this driver and card.";
  if (ptx_only) headline = "Machine code runs, but the driver refuses PTX: too new for it.";
  if (no_compiler) headline = "The driver's PTX compiler is missing: only machine code can run.";
  if (forbidden) headline = "PTX cannot be compiled: it is switched off by a variable.";
  Finding finding = start_finding("DR08", Severity::error, std::move(headline));
  finding.evidence = failure_evidence(seen, mine);
  for (const ProbeDevice& device : seen.snapshot.probe.devices) {
    finding.evidence.push_back(image_facts(seen.snapshot.probe, device));
  }
  const std::string* variable = probe_variable(seen.snapshot, "CUDA_DISABLE_PTX_JIT");
  if (variable != nullptr) {
    finding.evidence.push_back("CUDA_DISABLE_PTX_JIT=" + told(*variable));
  }
  finding.effect = ptx_only
                       ? "code that ships for this card only as PTX fails at its first launch"
                       : "kernels that were not built for this card fail at their first launch";
  if (forbidden) {
    finding.owner = Owner::user;
    finding.fixes = {"Unset CUDA_DISABLE_PTX_JIT"};
  } else if (no_compiler) {
    finding.owner = Owner::node;
    finding.fixes = {"Install or mount libnvidia-ptxjitcompiler.so of the driver's version"};
  } else {
    finding.fixes = {"Install packages that were built for this card",
                     "Or a newer driver on the host"};
  }
  return {std::move(finding)};
}

std::vector<Finding> judge_results(const Observations& seen, const ProbeFailures& failures) {
  const ProbeFailures mine = explained_by(failures, "DR13");
  if (mine.empty()) return {};
  std::set<int> devices;
  for (const ProbeFailure& failure : mine) devices.insert(failure.stage->device);
  const std::string which =
      devices.size() == 1 && *devices.begin() >= 0
          ? "Device " + std::to_string(*devices.begin()) + " computes"
          : (devices.size() == 1 ? "A card computes"
                                 : std::to_string(devices.size()) + " cards compute");
  Finding finding =
      start_finding("DR13", Severity::critical, which + " wrong results, or cannot compute.");
  finding.evidence = failure_evidence(seen, mine);
  for (const ProbeDevice& device : seen.snapshot.probe.devices) {
    if (!devices.contains(device.ordinal)) continue;
    finding.evidence.push_back("Device " + std::to_string(device.ordinal) + ": " +
                               told(device.name) + ", " + told(device.uuid));
  }
  finding.fixes = {"Take the card out of service and run the vendor's diagnosis (dcgmi diag -r 3)",
                   "See nvidia-smi -q -d ECC and the kernel's log for Xid errors"};
  return {std::move(finding)};
}

}  // namespace

std::vector<Finding> judge_probe_kernels(const Observations& seen, const ProbeFailures& failures) {
  std::vector<Finding> out = judge_images(seen, failures);
  append_findings(out, judge_results(seen, failures));
  return out;
}

}  // namespace cudart_doctor
