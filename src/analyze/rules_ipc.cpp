// IP01: an allocator setting under which a process's memory cannot be shared by legacy CUDA IPC.
#include <algorithm>
#include <array>

#include "cudart_doctor/analyze/rules.hpp"
#include "cudart_doctor/base/text.hpp"

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
};

constexpr std::array<Setting, 2> kSettings{{
    {"expandable_segments:True", "memory of the virtual-memory calls (cuMemCreate)"},
    {"backend:cudaMallocAsync", "memory of a stream-ordered pool (cudaMallocAsync)"},
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

}  // namespace

std::vector<Finding> judge_ipc(const Observations& seen) {
  const Environment* environment = seen.snapshot.environment.get();
  if (environment == nullptr || !may_use_torch(seen)) return {};
  // A plain round trip that fails is no matter of the allocator.
  const auto& probes = seen.snapshot.host.given_probe;
  const auto round_trip = probes.find("ipc.local");
  if (round_trip != probes.end() && round_trip->second != "0") return {};
  for (const std::string_view variable : kVariables) {
    const std::string* value = environment->find(variable);
    if (value == nullptr) continue;
    const Setting* setting = setting_in(*value);
    if (setting == nullptr) return {};
    Finding finding = start_finding("IP01", Severity::warning,
                                    "PyTorch's memory cannot be shared by CUDA IPC handles: " +
                                        std::string(setting->option) + " is set.");
    finding.effect =
        "custom all-reduce ends with \"invalid argument\" (1) where it exports such memory";
    finding.evidence.push_back(std::string(variable) + "=" + escape_foreign(*value));
    finding.evidence.push_back("Allocations are " + std::string(setting->memory) +
                               "; cudaIpcGetMemHandle takes cudaMalloc memory only");
    if (round_trip != probes.end()) {
      finding.evidence.emplace_back(
          "The plain cudaMalloc round trip passed: CUDA IPC itself works");
    }
    finding.fixes = {"Take " + std::string(setting->option) + " out of " + std::string(variable),
                     "Or turn custom all-reduce off (vLLM and SGLang: --disable-custom-all-reduce)",
                     "Restart all ranks"};
    return {std::move(finding)};
  }
  return {};
}

}  // namespace cudart_doctor
