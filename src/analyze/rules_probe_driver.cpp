// DR01 to DR07, DR09, DR11, DR12, DR14, DR15 by the probe: CUDA does not start, and the code says
// why.
#include <algorithm>
#include <array>
#include <utility>

#include "cudart_doctor/analyze/loader.hpp"
#include "cudart_doctor/base/text.hpp"
#include "driver_in_use.hpp"
#include "probe_view.hpp"
#include "rules_probe.hpp"

namespace cudart_doctor {
namespace {

/// "12.4" for 12040.
std::string cuda_version(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string device_facts(const Snapshot& snapshot) {
  const auto* nodes = snapshot.process.rights.device_nodes.get();
  std::string text = "Device nodes: ";
  if (nodes == nullptr) {
    text += "not known (" + told(snapshot.process.rights.device_nodes.reason()) + ")";
  } else if (nodes->empty()) {
    text += "none";
  } else {
    std::vector<std::string> paths;
    for (const DeviceNode& node : *nodes) paths.push_back(escape_foreign(node.path));
    text += join(paths, ", ");
  }
  const std::string* module = snapshot.host.kernel_module.get();
  return text + (module == nullptr ? "; kernel module: not seen"
                                   : "; kernel module " + escape_foreign(*module));
}

Finding of_driver(const Observations& seen, std::string_view id, std::string headline) {
  Finding finding = start_finding(id, Severity::critical, std::move(headline));
  if (const auto driver = driver_in_use(seen)) {
    finding.evidence.push_back((driver->loaded ? "Mapped: " : "First in the loader's way: ") +
                               escape_foreign(driver->path));
    const std::string versions = driver_versions(seen.snapshot, *driver);
    if (!versions.empty()) finding.evidence.push_back(versions);
  }
  if (const auto& driver = seen.snapshot.probe.driver) {
    finding.evidence.push_back(
        "The probe got " + escape_foreign(driver->path) +
        (driver->version > 0 ? ", for CUDA " + cuda_version(driver->version) : std::string()));
  }
  return finding;
}

Finding stub(const Observations& seen) {
  Finding finding = of_driver(seen, "DR01", "CUDA calls end in a driver stub (34).");
  const auto driver = driver_in_use(seen);
  finding.fixes = {driver && driver->kind == CompanionKind::driver_stub
                       ? driver_way_out(seen.snapshot, *driver)
                       : "Take the stubs directory out of LD_LIBRARY_PATH and the run paths",
                   "Restart the process"};
  return finding;
}

/// Where the loader's search for the driver looked, the first places of it.
std::string places_searched(const Snapshot& snapshot) {
  constexpr std::size_t kMost = 6;
  const LoaderAnswer answer = simulate_dlopen(snapshot, {.name = "libcuda.so.1", .caller = {}});
  std::vector<std::string> places;
  for (const Step& step : answer.steps) {
    if (!step.subject.starts_with('/')) continue;
    std::string place = escape_foreign(dir_name(step.subject));
    if (std::find(places.begin(), places.end(), place) == places.end()) {
      places.push_back(std::move(place));
    }
  }
  const std::size_t more = places.size() > kMost ? places.size() - kMost : 0;
  places.resize(places.size() - more);
  return join(places, ", ") + (more > 0 ? " and " + std::to_string(more) + " more" : "");
}

Finding missing(const Observations& seen, const ProbeFailures& failures) {
  Finding finding = of_driver(seen, "DR02", "There is no CUDA driver library here.");
  if (failures.front().runtime->driver_version == 0) {
    finding.evidence.emplace_back("The runtime found no driver: it answers driver version 0");
  }
  finding.evidence.emplace_back("The runtime asks the loader for libcuda.so.1 and nothing else");
  const std::string places = places_searched(seen.snapshot);
  if (!places.empty()) finding.evidence.push_back("Searched: " + places);
  finding.evidence.push_back(device_facts(seen.snapshot));
  finding.fixes = {"In a container: start it with the NVIDIA runtime (--gpus all, a GPU claim)",
                   "On the host: install the NVIDIA driver"};
  return finding;
}

Finding broken(const Observations& seen) {
  Finding finding = of_driver(seen, "DR03", "What the loader finds as the CUDA driver is none.");
  finding.fixes = {"Delete the file, or mount the driver there again", "Restart the process"};
  return finding;
}

Finding mismatch(const Observations& seen) {
  Finding finding = of_driver(seen, "DR04", "The driver's user part and kernel part do not fit.");
  const auto driver = driver_in_use(seen);
  const std::string* module = seen.snapshot.host.kernel_module.get();
  if (driver && module != nullptr && driver->version == *module) {
    finding.headline = "The driver refuses to start though its versions agree.";
  }
  finding.effect = "CUDA does not start";
  finding.fixes = {"On the host: reboot, or load the module of the installed driver again",
                   "In a container: start it again; remove a driver that the image brought"};
  return finding;
}

Finding compat(const Observations& seen) {
  Finding finding =
      of_driver(seen, "DR05", "The compat libcuda here does not fit the kernel module.");
  finding.effect = "CUDA does not start: error 803 (system has unsupported driver combination)";
  finding.fixes = {"Restart the process"};
  if (const auto driver = driver_in_use(seen)) {
    finding.fixes.insert(finding.fixes.begin(), driver_way_out(seen.snapshot, *driver));
  }
  return finding;
}

Finding unsupported_compat(const Observations& seen) {
  Finding finding =
      of_driver(seen, "DR06", "The compat libcuda does not support the card that is here.");
  for (const CardUse& card : seen.snapshot.probe.gate.cards) {
    if (!card.name.empty()) finding.evidence.push_back("Card: " + escape_foreign(card.name));
  }
  const auto driver = driver_in_use(seen);
  const LoadedObject* object =
      driver && driver->object ? &seen.snapshot.objects[*driver->object] : nullptr;
  if (object != nullptr && object->elf.get() != nullptr && object->elf.get()->compat_note) {
    finding.evidence.push_back("Its note allows: " + told(*object->elf.get()->compat_note));
  }
  finding.fixes = {"Remove the compat package (cuda-compat) from the image",
                   "Or update the host's driver"};
  if (driver && driver->kind == CompanionKind::driver_compat) {
    finding.fixes.front() = driver_way_out(seen.snapshot, *driver);
  }
  return finding;
}

/// A runtime that the headline's rule does not take may be there unused.
Severity too_old_severity(const Observations& seen, const ProbeFailures& failures) {
  const auto& all = seen.snapshot.probe.runtimes;
  const bool any_selected = std::any_of(all.begin(), all.end(), [](const auto& runtime) {
    return runtime.selected && !runtime.look_alike;
  });
  const bool selected_fails =
      std::any_of(failures.begin(), failures.end(),
                  [](const auto& failure) { return failure.runtime->selected; });
  return any_selected && !selected_fails ? Severity::error : Severity::critical;
}

Finding too_old(const Observations& seen, const ProbeFailures& failures) {
  const ProbedRuntime& runtime = *failures.front().runtime;
  Finding finding = of_driver(
      seen, "DR07", "The driver is older than " + runtime_name(seen, runtime) + " needs.");
  finding.severity = too_old_severity(seen, failures);
  std::string versions;
  if (runtime.driver_version) versions = "driver for CUDA " + cuda_version(*runtime.driver_version);
  if (runtime.runtime_version) {
    versions += (versions.empty() ? "" : ", ") + std::string("runtime ") +
                cuda_version(*runtime.runtime_version);
  }
  if (!versions.empty()) finding.evidence.push_back("By their own answer: " + versions);
  finding.evidence.emplace_back(
      "The oldest driver branch of CUDA 11 is 450, of CUDA 12 525, of CUDA 13 580");
  finding.fixes = {"Install packages for a CUDA version that the driver knows",
                   "Or a newer driver on the host",
                   "Or a compat libcuda (cuda-compat), on data-centre cards only"};
  return finding;
}

Finding fabric(const Observations& seen) {
  Finding finding = of_driver(seen, "DR09", "The cards wait for the fabric manager (802).");
  finding.fixes = {"On the host: start nvidia-fabricmanager of the driver's own version",
                   "With confidential computing on: set the cards' ready state"};
  return finding;
}

std::string visible_users(const ProbeGate& gate) {
  std::vector<std::string> parts;
  for (const CardUse& card : gate.cards) {
    std::string text = escape_foreign(card.node.empty() ? card.uuid : card.node);
    if (!card.compute_mode.empty()) text += ", compute mode " + escape_foreign(card.compute_mode);
    for (const std::int64_t pid : card.users) text += ", held by PID " + std::to_string(pid);
    parts.push_back(std::move(text));
  }
  return join(parts, "; ");
}

Finding unavailable(const Observations& seen, const ProbeFailures& failures) {
  const bool held = std::any_of(failures.begin(), failures.end(),
                                [](const auto& failure) { return failure.stage->code == 46; });
  Finding finding = of_driver(seen, "DR11",
                              held ? "The card takes no further process (46)."
                                   : "The driver is there, but no card can be used.");
  finding.evidence.push_back(device_facts(seen.snapshot));
  const auto missing_files = missing_nodes(seen.snapshot);
  if (!missing_files.empty()) finding.evidence.push_back("Missing: " + join(missing_files, ", "));
  const std::string users = visible_users(seen.snapshot.probe.gate);
  if (!users.empty()) finding.evidence.push_back("Cards: " + users);
  if (const std::string* cgroup = seen.snapshot.process.rights.cgroup.get()) {
    finding.evidence.push_back("cgroup " + told(*cgroup) + ": its device rules were not read");
  }
  if (held) {
    finding.fixes = {"Set the compute mode back: nvidia-smi -c DEFAULT",
                     "Or end the process that holds the card"};
  } else {
    finding.fixes = {"On the host: load the kernel modules (nvidia, nvidia_uvm)",
                     "In a container: pass the device nodes (NVIDIA runtime, GPU claim)"};
  }
  return finding;
}

Finding mps_refuses(const Observations& seen) {
  Finding finding = of_driver(seen, "DR12", "The MPS control daemon refuses this process.");
  finding.severity = Severity::error;
  if (!seen.snapshot.probe.gate.mps.empty()) {
    finding.evidence.push_back("MPS: " + told(seen.snapshot.probe.gate.mps));
  }
  finding.effect = "CUDA does not start in this process";
  finding.fixes = {"See the daemon's log (control.log, server.log)",
                   "Run as the user for whom the MPS server was started"};
  return finding;
}

Finding hidden(const Observations& seen, const ProbeFailures& failures) {
  Finding finding = of_driver(seen, "DR14", "No GPU is visible: " + failures.front().cause + ".");
  finding.severity = Severity::error;
  finding.effect = "CUDA finds no device in a process with this environment";
  finding.evidence.push_back(device_facts(seen.snapshot));
  finding.fixes = {"Set CUDA_VISIBLE_DEVICES to cards that are here, or unset it"};
  return finding;
}

Finding full(const Observations& seen) {
  Finding finding = of_driver(seen, "DR15", "The card has too little free memory for CUDA.");
  finding.severity = seen.snapshot.environment_only ? Severity::error : Severity::info;
  finding.effect = "a process that starts now fails with \"out of memory\" (2)";
  for (const CardUse& card : seen.snapshot.probe.gate.cards) {
    if (!card.free_bytes) continue;
    finding.evidence.push_back(escape_foreign(card.node.empty() ? card.uuid : card.node) + ": " +
                               std::to_string(*card.free_bytes >> 20U) + " MiB free, " +
                               count_of(card.users.size(), "process", "processes") + " on it");
  }
  finding.fixes = {"End what holds the memory, or give it less (nvidia-smi shows who)",
                   "Then probe again"};
  return finding;
}

Finding finding_for(const Observations& seen, std::string_view id, const ProbeFailures& failures) {
  if (id == "DR01") return stub(seen);
  if (id == "DR02") return missing(seen, failures);
  if (id == "DR03") return broken(seen);
  if (id == "DR04") return mismatch(seen);
  if (id == "DR05") return compat(seen);
  if (id == "DR06") return unsupported_compat(seen);
  if (id == "DR07") return too_old(seen, failures);
  if (id == "DR09") return fabric(seen);
  if (id == "DR11") return unavailable(seen, failures);
  if (id == "DR14") return hidden(seen, failures);
  if (id == "DR15") return full(seen);
  return mps_refuses(seen);
}

}  // namespace

std::vector<Finding> judge_probe_driver(const Observations& seen, const ProbeFailures& failures) {
  constexpr std::array<std::string_view, 12> kIds{"DR01", "DR02", "DR03", "DR04", "DR05", "DR06",
                                                  "DR07", "DR09", "DR11", "DR12", "DR14", "DR15"};
  std::vector<Finding> out;
  for (const std::string_view id : kIds) {
    const ProbeFailures mine = explained_by(failures, id);
    if (mine.empty()) continue;
    Finding finding = finding_for(seen, id, mine);
    std::vector<std::string> evidence = failure_evidence(seen, mine);
    finding.evidence.insert(finding.evidence.begin(), evidence.begin(), evidence.end());
    out.push_back(std::move(finding));
  }
  return out;
}

}  // namespace cudart_doctor
