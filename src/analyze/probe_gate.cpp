// Whether a probe may run. It takes about 1 GiB of a card for half a second: beside somebody else's
// work that can abort a server which measures its free memory just then.
#include <algorithm>
#include <optional>

#include "cudart_doctor/analyze/probe_plan.hpp"
#include "cudart_doctor/base/text.hpp"
#include "probe_view.hpp"

namespace cudart_doctor {
namespace {

constexpr std::uint64_t kMiB = 1024ULL * 1024;
/// A driver keeps some MiB of an idle card for itself.
constexpr std::uint64_t kIdleBytes = 64 * kMiB;
/// Two contexts take 1,051 MiB, the sample some more.
constexpr std::uint64_t kNeededBytes = 2048 * kMiB;

std::string mebibytes(std::uint64_t bytes) { return std::to_string(bytes / kMiB) + " MiB"; }

std::string card_name(const CardUse& card) {
  for (const std::string* text : {&card.node, &card.uuid, &card.name}) {
    if (!text->empty()) return escape_foreign(*text);
  }
  return "a card";
}

/// NVML told of it, not only /proc.
bool is_measured(const CardUse& card) {
  return card.used_bytes || card.free_bytes || !card.compute_mode.empty();
}

bool any_measured(const ProbeGate& gate) {
  return std::any_of(gate.cards.begin(), gate.cards.end(), is_measured);
}

/// Why no genuine runtime can be run; empty where one can.
std::string no_subject(const ProbePlan& plan) {
  std::string reason = "no genuine runtime is mapped that could be opened";
  for (const ProbeSubject& subject : plan.subjects) {
    if (subject.symbols_only) continue;
    if (subject.skip.empty()) return {};
    reason = escape_foreign(base_name(subject.path)) + " " + subject.skip;
  }
  return reason;
}

/// Not known is not absent: only a view of /dev that was read, or a look at the cards that found
/// none, proves that there is nothing.
bool shows_no_gpu(const Snapshot& snapshot, const ProbeGate& gate) {
  if (!gate.cards.empty() || snapshot.host.kernel_module.is_known()) return false;
  if (!snapshot.host.no_ipc_sign.empty()) return false;
  const auto* nodes = snapshot.process.rights.device_nodes.get();
  if (nodes != nullptr) return nodes->empty();
  return gate.asked && gate.cards_note.empty();
}

/// CUDA numbers cards by the bus only where it is told to, or where all are alike.
bool numbered_by_bus(const Snapshot& snapshot, const ProbeGate& gate) {
  const std::string* order = probe_variable(snapshot, "CUDA_DEVICE_ORDER");
  if (order != nullptr && *order == "PCI_BUS_ID") return true;
  return std::all_of(gate.cards.begin(), gate.cards.end(), [&](const CardUse& card) {
    return !card.name.empty() && card.name == gate.cards.front().name;
  });
}

/// The cards that CUDA_VISIBLE_DEVICES leaves, in its order; nothing where that cannot be told.
std::optional<std::vector<CardUse>> visible_cards(const Snapshot& snapshot, const ProbeGate& gate) {
  const std::string* variable = probe_variable(snapshot, "CUDA_VISIBLE_DEVICES");
  if (!snapshot.environment.is_known()) return std::nullopt;
  if (variable == nullptr) return gate.cards;
  std::vector<CardUse> out;
  for (const std::string_view part : split(*variable, ',')) {
    const std::string_view token = trim(part);
    const auto number = parse_unsigned(token, 10);
    if (number && !numbered_by_bus(snapshot, gate)) return std::nullopt;
    if (number) {
      if (*number >= gate.cards.size()) break;
      out.push_back(gate.cards[*number]);
      continue;
    }
    const auto card = std::find_if(gate.cards.begin(), gate.cards.end(), [&](const CardUse& one) {
      return token.starts_with("GPU-") && one.uuid.starts_with(token);
    });
    if (card == gate.cards.end()) return std::nullopt;
    out.push_back(*card);
  }
  return out;
}

/// The cards that the probe would touch: those of the target that --devices names. All of them
/// where that cannot be told.
ProbeGate in_question(const Snapshot& snapshot, const ProbeGate& gate,
                      const ProbeRequest& request) {
  const auto visible = visible_cards(snapshot, gate);
  if (!visible) return gate;
  ProbeGate out = gate;
  out.cards.clear();
  for (std::size_t i = 0; i < visible->size(); ++i) {
    const bool named = std::find(request.devices.begin(), request.devices.end(),
                                 static_cast<int>(i)) != request.devices.end();
    if (request.devices.empty() || named) out.cards.push_back((*visible)[i]);
  }
  // Numbers that are not here: the probe itself says so.
  return out.cards.empty() ? gate : out;
}

/// Processes that use a card; the doctor's own child that shows an environment does not count.
std::size_t count_users(const Snapshot& snapshot, const CardUse& card) {
  const auto ours = [&](std::int64_t pid) {
    return snapshot.environment_only && pid == snapshot.process.pid;
  };
  return card.users.size() -
         static_cast<std::size_t>(std::count_if(card.users.begin(), card.users.end(), ours));
}

std::string users_phrase(std::size_t users) {
  return count_of(users, "process", "processes") + (users == 1 ? " uses " : " use ");
}

/// What forbids the automatic probe; empty where nothing does.
std::string somebody_elses(const Snapshot& snapshot, const ProbeGate& gate) {
  for (const CardUse& card : gate.cards) {
    const std::size_t users = count_users(snapshot, card);
    if (users > 0) return users_phrase(users) + card_name(card);
    if (card.used_bytes && *card.used_bytes > kIdleBytes) {
      return mebibytes(*card.used_bytes) + " of " + card_name(card) + " are in use";
    }
    if (!card.compute_mode.empty() && card.compute_mode != "default") {
      return card_name(card) + " is in compute mode " + escape_foreign(card.compute_mode);
    }
  }
  if (!gate.asked) return "nobody looked at the cards";
  if (!gate.cards_note.empty() && !any_measured(gate)) {
    return "who uses the cards could not be told: " + escape_foreign(gate.cards_note);
  }
  return {};
}

/// What forbids a probe that was asked for, unless it is wanted anyway.
std::string cannot_serve(const Snapshot& snapshot, const ProbeGate& gate) {
  if (!gate.mps.empty()) return "MPS is in use (" + escape_foreign(gate.mps) + ")";
  for (const CardUse& card : gate.cards) {
    const std::size_t users = count_users(snapshot, card);
    if (card.compute_mode == "prohibited")
      return card_name(card) + " is in compute mode prohibited";
    if (card.compute_mode == "exclusive" && users > 0) {
      return card_name(card) + " is in compute mode exclusive and held";
    }
    if (card.free_bytes && *card.free_bytes < kNeededBytes) {
      return card_name(card) + " has " + mebibytes(*card.free_bytes) +
             " free, the probe wants 2048 MiB";
    }
  }
  return {};
}

}  // namespace

GateAnswer decide_probe(const Report& report, const ProbeGate& all_cards,
                        const ProbeRequest& request) {
  const Snapshot& snapshot = report.snapshot;
  const ProbeGate gate = in_question(snapshot, all_cards, request);
  if (request.mode == ProbeMode::off) {
    return {ProbeDecision::not_asked, "not asked for (--probe off)"};
  }
  if (snapshot.origin == SnapshotOrigin::bundle || snapshot.origin == SnapshotOrigin::fixture) {
    return {ProbeDecision::not_asked, "a replay runs no probe"};
  }
  if (const std::string reason = no_subject(plan_probe(report, request)); !reason.empty()) {
    return {ProbeDecision::impossible, reason};
  }
  const bool automatic = request.mode == ProbeMode::automatic;
  if (automatic && shows_no_gpu(snapshot, gate)) {
    return {ProbeDecision::impossible, "no NVIDIA GPU here"};
  }
  const std::string* visible = probe_variable(snapshot, "CUDA_VISIBLE_DEVICES");
  if (automatic && visible != nullptr && trim(*visible).empty()) {
    return {ProbeDecision::impossible, "CUDA_VISIBLE_DEVICES is empty: no GPU is visible"};
  }
  if (automatic) {
    const std::string reason = somebody_elses(snapshot, gate);
    if (!reason.empty()) {
      return {ProbeDecision::refused,
              "not run on a live GPU: " + reason + "; to allow it: --probe on"};
    }
  }
  const std::string reason = cannot_serve(snapshot, gate);
  if (!reason.empty() && (automatic || !request.anyway)) {
    return {ProbeDecision::refused, reason + "; to run it nevertheless: --probe on --probe-anyway"};
  }
  return {};
}

}  // namespace cudart_doctor
