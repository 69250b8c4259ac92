// DR10, DR12: NVML, by which tools see the cards, and MPS, which stands between process and card.
#include <algorithm>
#include <array>
#include <utility>

#include "cudart_doctor/analyze/rules.hpp"
#include "cudart_doctor/base/text.hpp"
#include "driver_in_use.hpp"
#include "probe_view.hpp"

namespace cudart_doctor {
namespace {

constexpr std::array<std::string_view, 3> kNvmlWords{"NVML", "nvml", "libnvidia-ml"};

/// A card or a driver is here: without one nobody misses NVML.
bool has_driver(const Snapshot& snapshot) {
  return snapshot.host.kernel_module.is_known() || !snapshot.probe.devices.empty();
}

std::string node_facts(const Snapshot& snapshot) {
  const auto* nodes = snapshot.process.rights.device_nodes.get();
  if (nodes == nullptr) return "/dev/nvidiactl: not known";
  const bool there = std::any_of(nodes->begin(), nodes->end(), [](const DeviceNode& node) {
    return node.path == "/dev/nvidiactl";
  });
  return there ? "/dev/nvidiactl is there: the library is at fault"
               : "/dev/nvidiactl is missing too: the container runtime is, not the library";
}

Finding unusable(const Snapshot& snapshot, std::string headline, std::string sentence) {
  Finding finding = start_finding("DR10", Severity::error, std::move(headline));
  finding.evidence = {std::move(sentence), node_facts(snapshot)};
  finding.fixes = {
      "In a container: start it with the NVIDIA runtime, with the utility capability",
      "On the host: install NVML of the driver's own version, or reboot after an update"};
  return finding;
}

/// The note's other subjects are rights in /proc and the child that asks.
bool speaks_of_nvml(std::string_view note) {
  if (note.starts_with("NVML's child")) return false;
  return std::any_of(kNvmlWords.begin(), kNvmlWords.end(), [&](std::string_view word) {
    return note.find(word) != std::string_view::npos;
  });
}

/// NVML told at least of one card: a single call that failed is no outage.
bool knows_memory(const ProbeGate& gate) {
  return std::any_of(gate.cards.begin(), gate.cards.end(),
                     [](const CardUse& card) { return card.used_bytes || card.free_bytes; });
}

std::vector<Finding> judge_nvml(const Observations& seen) {
  for (const Companion& companion : seen.companions) {
    if (!companion.loaded) continue;
    const std::string path = escape_foreign(companion.path);
    if (companion.kind == CompanionKind::nvml_stub) {
      Finding finding = unusable(seen.snapshot, "The NVML in this process is a link-time stub.",
                                 "Mapped: " + path);
      for (const std::string& sentence : companion.evidence) finding.evidence.push_back(sentence);
      return {std::move(finding)};
    }
    const std::string* module = seen.snapshot.host.kernel_module.get();
    if (companion.kind == CompanionKind::nvml && module != nullptr && !companion.version.empty() &&
        compare_versions(companion.version, *module) != 0) {
      return {unusable(seen.snapshot,
                       "NVML and the NVIDIA kernel module are of different versions.",
                       path + " " + escape_foreign(companion.version) + ", kernel module " +
                           escape_foreign(*module))};
    }
  }
  const ProbeGate& gate = seen.snapshot.probe.gate;
  if (!speaks_of_nvml(gate.cards_note) || knows_memory(gate) || !has_driver(seen.snapshot)) {
    return {};
  }
  // NVML loads the driver's library too: a broken one is the cause.
  const auto driver = driver_in_use(seen);
  if (driver && driver->kind == CompanionKind::driver_broken) return {};
  return {unusable(seen.snapshot, "NVML does not answer, though the driver is here.",
                   told(gate.cards_note))};
}

std::vector<Finding> judge_mps(const Observations& seen) {
  const std::string& gate = seen.snapshot.probe.gate.mps;
  const std::string* directory = probe_variable(seen.snapshot, "CUDA_MPS_PIPE_DIRECTORY");
  if (gate.empty() && directory == nullptr) return {};
  Finding finding = start_finding("DR12", Severity::info, "MPS is in use on this node.");
  finding.effect = "a client that faults can take others down; the probe runs only if asked to";
  if (!gate.empty()) finding.evidence.push_back("MPS: " + told(gate));
  if (directory != nullptr) {
    finding.evidence.push_back("CUDA_MPS_PIPE_DIRECTORY=" + told(*directory));
  }
  finding.fixes = {"None needed"};
  return {std::move(finding)};
}

}  // namespace

std::vector<Finding> judge_node(const Observations& seen) {
  std::vector<Finding> out = judge_nvml(seen);
  append_findings(out, judge_mps(seen));
  return out;
}

}  // namespace cudart_doctor
