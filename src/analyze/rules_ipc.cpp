// IP01, IP04, IP05: settings, rights and platforms under which memory cannot be shared, though CUDA
// itself works.
#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "cudart_doctor/analyze/rules.hpp"
#include "cudart_doctor/base/text.hpp"
#include "probe_view.hpp"

namespace cudart_doctor {
namespace {

/// PyTorch reads the first of these that is set; the shorter name is the newer one.
constexpr std::array<std::string_view, 2> kVariables{"PYTORCH_ALLOC_CONF",
                                                     "PYTORCH_CUDA_ALLOC_CONF"};

/// The value without blanks, which PyTorch's parser skips.
std::string without_blanks(std::string_view text) {
  std::string out(text);
  std::erase(out, ' ');
  return out;
}

struct Setting {
  std::string_view option;
  std::string_view memory;
  Mechanism mechanism;  ///< The probe's attempt to export such memory.
};

constexpr std::array<Setting, 2> kSettings{{
    {"expandable_segments:True", "memory of the virtual-memory calls (cuMemCreate)",
     Mechanism::legacy_on_vmm},
    {"backend:cudaMallocAsync", "memory of a stream-ordered pool (cudaMallocAsync)",
     Mechanism::legacy_on_pool},
}};

const Setting* setting_in(std::string_view value) {
  const std::string text = without_blanks(value);
  const auto options = split(text, ',');
  for (const Setting& setting : kSettings) {
    if (std::find(options.begin(), options.end(), setting.option) != options.end()) return &setting;
  }
  return nullptr;
}

/// PyTorch is here, or may be: the variable alone, in a shell that only passes it on, is nothing.
bool may_use_torch(const Observations& seen) {
  const auto torch = std::find_if(seen.consumers.begin(), seen.consumers.end(),
                                  [](const Consumer& consumer) { return consumer.id == "torch"; });
  if (torch != seen.consumers.end() && torch->presence != Presence::unknown) {
    return torch->presence == Presence::present;
  }
  return std::any_of(seen.candidates.begin(), seen.candidates.end(),
                     [](const Candidate& candidate) { return candidate.loaded; });
}

/// The export itself was answered: making the memory may have failed before.
bool is_tried(const MechanismResult& result) {
  return result.outcome == StageOutcome::pass ||
         (result.outcome == StageOutcome::fail &&
          (result.call.empty() || result.call == "cudaIpcGetMemHandle"));
}

/// The setting that is in force, and the variable that holds it.
struct InForce {
  const Setting* setting = nullptr;
  std::string_view variable;
  const std::string* value = nullptr;
};

InForce setting_in_force(const Observations& seen) {
  const Environment* environment = seen.snapshot.environment.get();
  if (environment == nullptr || !may_use_torch(seen)) return {};
  for (const std::string_view variable : kVariables) {
    const std::string* value = environment->find(variable);
    if (value != nullptr) return {setting_in(*value), variable, value};
  }
  return {};
}

std::vector<Finding> judge_allocator(const Observations& seen, const InForce& force) {
  // A plain round trip that fails is no matter of the allocator.
  const RoundTrip round_trip = plain_round_trip(seen.snapshot.probe);
  if (force.setting == nullptr || round_trip == RoundTrip::failed) return {};
  const MechanismResult* tried = find_mechanism(seen.snapshot.probe, force.setting->mechanism);
  const bool has_answer = tried != nullptr && tried->code.has_value() && is_tried(*tried);
  // A driver that exports such memory after all makes the setting harmless.
  if (has_answer && *tried->code == 0) return {};
  const std::string option(force.setting->option);
  Finding finding = start_finding(
      "IP01", Severity::warning,
      "PyTorch's memory cannot be shared by CUDA IPC handles: " + option + " is set.");
  finding.effect =
      "custom all-reduce ends with \"invalid argument\" (1) where it exports such memory";
  finding.evidence.push_back(std::string(force.variable) + "=" + escape_foreign(*force.value));
  finding.evidence.push_back("Allocations are " + std::string(force.setting->memory) +
                             "; cudaIpcGetMemHandle takes cudaMalloc memory only");
  if (has_answer) {
    finding.evidence.push_back("Tried here: a handle of such memory was refused, " +
                               shown_code(*tried->code));
  }
  if (round_trip == RoundTrip::passed) {
    finding.evidence.emplace_back("The plain cudaMalloc round trip passed: CUDA IPC itself works");
  }
  finding.fixes = {"Take " + option + " out of " + std::string(force.variable),
                   "Or turn custom all-reduce off (vLLM and SGLang: --disable-custom-all-reduce)",
                   "Restart all ranks"};
  return {std::move(finding)};
}

/// What decides whether one process may take a descriptor out of another.
std::vector<std::string> descriptor_facts(const Snapshot& snapshot) {
  constexpr unsigned kSysPtrace = 19;
  std::vector<std::string> out;
  if (const int* scope = snapshot.host.ptrace_scope.get()) {
    out.push_back("Yama: ptrace_scope is " + std::to_string(*scope));
  }
  if (const auto* effective = snapshot.process.rights.effective.get()) {
    const bool has = ((*effective >> kSysPtrace) & 1U) != 0;
    out.push_back(std::string("CAP_SYS_PTRACE: ") + (has ? "in force" : "not in force"));
  }
  if (const auto* seccomp = snapshot.process.rights.seccomp.get()) {
    out.push_back("seccomp: " + std::string(*seccomp == 0 ? "none" : "a filter is in force"));
  }
  return out;
}

std::vector<std::string> descriptor_fixes(const Snapshot& snapshot, int error) {
  if (error == EBADF) {
    return {"Bring both sides to one release of PyTorch: they disagree on the kind of handle"};
  }
  if (error == ENOSYS) {
    return {
        "Allow pidfd_open and pidfd_getfd: Linux 5.6 or later, and a seccomp profile with them"};
  }
  std::vector<std::string> fixes = {
      "Give the container CAP_SYS_PTRACE (--cap-add=SYS_PTRACE), or let the exporter call "
      "prctl(PR_SET_PTRACER)"};
  const int* scope = snapshot.host.ptrace_scope.get();
  if (scope == nullptr || *scope > 0) {
    fixes.emplace_back("Or on the host: sysctl kernel.yama.ptrace_scope=0");
  }
  return fixes;
}

std::vector<Finding> judge_descriptors(const Observations& seen, const InForce& force) {
  const MechanismResult* tried = find_mechanism(seen.snapshot.probe, Mechanism::vmm_pidfd);
  if (tried == nullptr || !is_failed(tried->outcome) || !tried->error || *tried->error == 0) {
    return {};
  }
  const bool needed = force.setting != nullptr;
  const std::string call = tried->call.empty() ? "pidfd_getfd" : told(tried->call);
  Finding finding = start_finding("IP05", needed ? Severity::error : Severity::info,
                                  "A process here cannot take a memory descriptor from another: " +
                                      errno_name(*tried->error) + ".");
  finding.effect = needed ? "PyTorch's expandable segments cannot be shared between processes"
                          : "none while PyTorch's expandable segments are off: only they need it";
  finding.evidence.push_back(call + " gave " + errno_name(*tried->error));
  if (*tried->error == EBADF) {
    finding.evidence.emplace_back("EBADF is no matter of rights: there was no such descriptor");
  }
  for (std::string& fact : descriptor_facts(seen.snapshot)) {
    finding.evidence.push_back(std::move(fact));
  }
  finding.fixes = descriptor_fixes(seen.snapshot, *tried->error);
  if (needed) {
    finding.evidence.push_back(std::string(force.variable) + "=" + escape_foreign(*force.value));
    finding.fixes.push_back("Or take " + std::string(force.setting->option) + " out of " +
                            std::string(force.variable));
  }
  return {std::move(finding)};
}

/// WSL2 and Tegra have no legacy IPC. What needs none of CUDA loses nothing.
std::vector<Finding> judge_platform(const Observations& seen) {
  const std::string& sign = seen.snapshot.host.no_ipc_sign;
  if (sign.empty() || distinct_runtimes(seen.snapshot, seen.candidates).empty()) return {};
  Finding finding =
      start_finding("IP04", Severity::error, "CUDA IPC does not exist on this platform.");
  finding.evidence = {"Recognised by: " + told(sign), "The IPC stages of the probe do not count"};
  finding.fixes = {"Turn custom all-reduce off (vLLM and SGLang: --disable-custom-all-reduce)",
                   "Share memory by another transport (NCCL over shared memory or sockets)"};
  return {std::move(finding)};
}

}  // namespace

std::vector<Finding> judge_ipc(const Observations& seen) {
  const InForce force = setting_in_force(seen);
  std::vector<Finding> out = judge_allocator(seen, force);
  append_findings(out, judge_descriptors(seen, force));
  append_findings(out, judge_platform(seen));
  return out;
}

}  // namespace cudart_doctor
