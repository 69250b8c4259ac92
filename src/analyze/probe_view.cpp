// Nothing here trusts the probe's record: it may come from a bundle that somebody wrote by hand.
#include "probe_view.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <set>
#include <utility>

#include "cudart_doctor/analyze/cuda_codes.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

/// "0", "7"; nothing for "-1" and for what is no number.
std::optional<std::uint64_t> ordinal_of(std::string_view token) {
  return parse_unsigned(token, 10);
}

bool is_uuid(std::string_view token) {
  return token.starts_with("GPU-") || token.starts_with("MIG-");
}

/// Cards that are there, whatever is visible; nothing where that is not known.
std::optional<std::size_t> count_cards(const Snapshot& snapshot) {
  if (!snapshot.probe.gate.cards.empty()) return snapshot.probe.gate.cards.size();
  const auto* nodes = snapshot.process.rights.device_nodes.get();
  if (nodes == nullptr) return std::nullopt;
  const auto cards = std::count_if(nodes->begin(), nodes->end(), [](const DeviceNode& node) {
    constexpr std::string_view kCard = "/dev/nvidia";
    return node.path.starts_with(kCard) && ordinal_of(node.path.substr(kCard.size())).has_value();
  });
  return static_cast<std::size_t>(cards);
}

bool knows_uuid(const ProbeGate& gate, std::string_view token) {
  return std::any_of(gate.cards.begin(), gate.cards.end(),
                     [&](const CardUse& card) { return card.uuid.starts_with(token); });
}

/// Whether the driver stops at this token: it takes those before, and none from here on.
bool ends_the_list(const Snapshot& snapshot, std::string_view token) {
  if (is_uuid(token)) {
    const ProbeGate& gate = snapshot.probe.gate;
    return token.starts_with("GPU-") && !gate.cards.empty() && !knows_uuid(gate, token);
  }
  const auto ordinal = ordinal_of(token);
  if (!ordinal) return true;
  const auto cards = count_cards(snapshot);
  return cards && *cards > 0 && *ordinal >= *cards;
}

}  // namespace

bool is_failed(StageOutcome outcome) {
  return outcome == StageOutcome::fail || outcome == StageOutcome::begun;
}

bool is_ipc_stage(Stage stage) { return stage >= Stage::ipc_export && stage <= Stage::ipc_again; }

bool is_between_cards(const StageResult& stage) {
  return stage.stage == Stage::peer_access ||
         (stage.peer_device >= 0 && stage.peer_device != stage.device);
}

std::string_view stage_name(Stage stage) { return kStageNames.at(static_cast<std::size_t>(stage)); }

std::string_view side_name(ProbeSide side) {
  constexpr std::array<std::string_view, 3> kNames{"runner", "exporter", "importer"};
  return kNames.at(static_cast<std::size_t>(side));
}

std::string_view mechanism_name(Mechanism mechanism) {
  return kMechanismNames.at(static_cast<std::size_t>(mechanism));
}

std::string told(std::string_view text) {
  constexpr std::size_t kMost = 200;
  return escape_foreign(text.substr(0, kMost)) + (text.size() > kMost ? "..." : "");
}

std::string shown_code(int code, std::string_view call) {
  const std::string_view name = cuda_code_name(code, call);
  return std::to_string(code) + (name.empty() ? std::string() : " (" + std::string(name) + ")");
}

std::string errno_name(int error) {
  constexpr std::array<std::pair<int, std::string_view>, 9> kNames{{{EPERM, "EPERM"},
                                                                    {ESRCH, "ESRCH"},
                                                                    {EBADF, "EBADF"},
                                                                    {EACCES, "EACCES"},
                                                                    {EINVAL, "EINVAL"},
                                                                    {EMFILE, "EMFILE"},
                                                                    {ENOSYS, "ENOSYS"},
                                                                    {ETIMEDOUT, "ETIMEDOUT"},
                                                                    {EPIPE, "EPIPE"}}};
  for (const auto& [number, name] : kNames) {
    if (number == error) return std::string(name);
  }
  return "errno " + std::to_string(error);
}

const Candidate* candidate_of(const Observations& seen, const ProbedRuntime& runtime) {
  return runtime.candidate < seen.candidates.size() ? &seen.candidates[runtime.candidate] : nullptr;
}

std::string runtime_name(const Observations& seen, const ProbedRuntime& runtime) {
  const Candidate* candidate = candidate_of(seen, runtime);
  const std::string version = candidate == nullptr ? std::string() : candidate->version;
  std::string name = escape_foreign(base_name(runtime.path));
  const bool told_already = version.empty() || name.ends_with("." + version);
  return told_already ? name : name + " " + escape_foreign(version);
}

const ProbedRuntime* probe_of(const Observations& seen, const Candidate& candidate) {
  for (const ProbedRuntime& runtime : seen.snapshot.probe.runtimes) {
    if (runtime.skipped.empty() && candidate_of(seen, runtime) == &candidate) return &runtime;
  }
  return nullptr;
}

std::vector<std::string> probe_sentences(const Observations& seen, const Candidate& candidate) {
  const ProbedRuntime* runtime = probe_of(seen, candidate);
  if (runtime == nullptr) return {};
  const auto asked =
      std::find_if(runtime->stages.begin(), runtime->stages.end(), [](const StageResult& stage) {
        return stage.stage == Stage::symbols &&
               (stage.outcome == StageOutcome::pass || stage.outcome == StageOutcome::fail);
      });
  if (asked == runtime->stages.end()) return {};
  if (runtime->missing.empty())
    return {"The probe loaded it: it has every name that was asked for"};
  std::vector<std::string> names;
  for (const std::string& name : runtime->missing) names.push_back(escape_foreign(name));
  return {"The probe loaded it: it lacks " + join(names, ", ")};
}

RoundTrip plain_round_trip(const ProbeFacts& probe) {
  RoundTrip answer = RoundTrip::not_run;
  for (const ProbedRuntime& runtime : probe.runtimes) {
    if (!runtime.skipped.empty()) continue;
    for (const StageResult& stage : runtime.stages) {
      if (!is_ipc_stage(stage.stage) || is_between_cards(stage)) continue;
      if (stage.stage == Stage::ipc_event) continue;
      if (is_failed(stage.outcome)) return RoundTrip::failed;
      const bool data_right =
          stage.stage == Stage::ipc_verify && stage.outcome == StageOutcome::pass;
      if (data_right) answer = RoundTrip::passed;
    }
  }
  return answer;
}

const MechanismResult* find_mechanism(const ProbeFacts& probe, Mechanism mechanism) {
  const MechanismResult* best = nullptr;
  const auto gravity = [](const MechanismResult& result) {
    return is_failed(result.outcome) ? 2 : (result.outcome == StageOutcome::pass ? 1 : 0);
  };
  for (const MechanismResult& result : probe.mechanisms) {
    if (result.mechanism != mechanism) continue;
    if (best == nullptr || gravity(result) > gravity(*best)) best = &result;
  }
  return best;
}

const std::string* probe_variable(const Snapshot& snapshot, std::string_view name) {
  const auto& children = snapshot.probe.environment;
  if (const auto found = children.find(std::string(name)); found != children.end()) {
    return &found->second;
  }
  const Environment* environment = snapshot.environment.get();
  return environment == nullptr ? nullptr : environment->find(name);
}

std::string hidden_cards(const Snapshot& snapshot) {
  const std::string* value = probe_variable(snapshot, "CUDA_VISIBLE_DEVICES");
  if (value == nullptr) return {};
  if (trim(*value).empty()) return "is empty";
  std::set<std::string_view> taken;
  for (const std::string_view part : split(*value, ',')) {
    const std::string_view token = trim(part);
    if (ends_the_list(snapshot, token)) break;
    // 0,0 is refused as a whole (101), unlike a list that ends early.
    if (!taken.insert(token).second) return "names a card twice: " + escape_foreign(*value);
  }
  return taken.empty() ? "names no card that is here: " + escape_foreign(*value) : std::string();
}

std::optional<int> reported_code(const Snapshot& snapshot, std::string_view key) {
  const auto found = snapshot.host.given_probe.find(std::string(key));
  if (found == snapshot.host.given_probe.end()) return std::nullopt;
  const auto code = parse_unsigned(found->second, 10);
  if (!code || *code > 99'999) return std::nullopt;
  return static_cast<int>(*code);
}

}  // namespace cudart_doctor
