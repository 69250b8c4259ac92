// IP02, IP03, IP07: the target and a process that it shares memory with, side by side. The driver
// knows processes by their innermost PID and cards by their device nodes.
#include <algorithm>
#include <set>
#include <utility>

#include "cudart_doctor/analyze/rules.hpp"
#include "cudart_doctor/base/text.hpp"
#include "probe_view.hpp"

namespace cudart_doctor {
namespace {

using Uuids = std::vector<std::string>;

/// What two processes say of one thing: not known of both is neither equal nor different.
enum class Likeness : std::uint8_t { unknown, equal, different };

Likeness compare_namespace(const ProcessFacts& target, const PeerFacts& peer,
                           const std::string& name) {
  const auto own = target.namespaces.find(name);
  const auto other = peer.namespaces.find(name);
  if (own == target.namespaces.end() || other == peer.namespaces.end()) return Likeness::unknown;
  return own->second == other->second ? Likeness::equal : Likeness::different;
}

Likeness compare_inner_pid(const ProcessFacts& target, const PeerFacts& peer) {
  if (target.ns_pids.empty() || peer.ns_pids.empty()) return Likeness::unknown;
  return target.ns_pids.back() == peer.ns_pids.back() ? Likeness::equal : Likeness::different;
}

/// "2214 (inside: 1)": outermost first.
std::string pid_list(const std::vector<std::int64_t>& pids) {
  if (pids.empty()) return "not known";
  std::vector<std::string> inner;
  for (std::size_t i = 1; i < pids.size(); ++i) inner.push_back(std::to_string(pids[i]));
  return std::to_string(pids.front()) +
         (inner.empty() ? std::string() : " (inside: " + join(inner, ", ") + ")");
}

std::string namespace_text(const std::map<std::string, std::uint64_t>& namespaces) {
  const auto found = namespaces.find("pid");
  return found == namespaces.end() ? std::string("not known") : std::to_string(found->second);
}

std::string named(const PeerFacts& peer) {
  std::string text = "peer PID " + std::to_string(peer.pid);
  if (!peer.comm.empty()) text += " " + told(peer.comm);
  return peer.found_by.empty() ? text : text + " (" + told(peer.found_by) + ")";
}

/// What opening the target's handle gave in the peer, where that is known.
std::optional<int> open_code(const Observations& seen) {
  return reported_code(seen.snapshot, "ipc.peer.open");
}

std::vector<std::string> open_evidence(const Observations& seen) {
  const auto code = open_code(seen);
  if (!code) return {};
  if (*code == 0) return {"The peer opened a handle of the target: it works"};
  return {"Opening a handle of the target in the peer gave " + shown_code(*code)};
}

/// The peer is the target itself, or looks like it to the driver and to everybody else.
bool is_same_process(const ProcessFacts& target, const PeerFacts& peer) {
  if (peer.pid != 0 && peer.pid == target.pid) return true;
  return compare_namespace(target, peer, "pid") == Likeness::equal &&
         compare_inner_pid(target, peer) == Likeness::equal;
}

std::vector<Finding> judge_namespaces(const Observations& seen, const PeerFacts& peer) {
  const ProcessFacts& target = seen.snapshot.process;
  if (compare_namespace(target, peer, "pid") != Likeness::different) return {};
  const bool equal = compare_inner_pid(target, peer) == Likeness::equal;
  const bool refused = open_code(seen) == 201;
  const bool fails = equal || refused;
  std::string headline = "The peer is in another PID namespace; that alone is no fault.";
  if (refused) headline = "The peer refuses the target's handles (201): another PID namespace.";
  if (equal)
    headline =
        "This process and its peer have the same PID inside different PID namespaces: CUDA IPC "
        "takes them for one.";
  Finding finding =
      start_finding("IP02", fails ? Severity::error : Severity::info, std::move(headline));
  finding.effect =
      fails ? "CUDA IPC between them fails with 201; a service may hide that and run slower"
            : "none as long as their innermost PIDs differ";
  finding.evidence = {"This process: PID namespace " + namespace_text(target.namespaces) +
                          ", PID " + pid_list(target.ns_pids),
                      named(peer) + ": PID namespace " + namespace_text(peer.namespaces) +
                          ", PID " + pid_list(peer.ns_pids)};
  finding.evidence[1].front() = 'P';
  for (std::string& sentence : open_evidence(seen)) finding.evidence.push_back(std::move(sentence));
  if (fails) {
    finding.fixes = {
        "Let them share a PID namespace (docker: --pid=container:NAME; Kubernetes: "
        "shareProcessNamespace or hostPID)",
        "Or start one of them under another inner PID (by a launcher before it)"};
    finding.no_help = {
        "VMM descriptors instead of handles: some libraries refuse them between PID namespaces "
        "too"};
  } else {
    finding.fixes = {"None needed"};
  }
  return {std::move(finding)};
}

bool is_card(const DeviceNode& node) {
  constexpr std::string_view kPrefix = "/dev/nvidia";
  return node.path.starts_with(kPrefix) &&
         parse_unsigned(std::string_view(node.path).substr(kPrefix.size()), 10).has_value();
}

/// The target's cards whose device node the peer does not have, by device number, not by name.
std::vector<std::string> cards_without_node(const Snapshot& snapshot, const PeerFacts& peer) {
  const auto* own = snapshot.process.rights.device_nodes.get();
  const auto* theirs = peer.rights.device_nodes.get();
  if (own == nullptr || theirs == nullptr) return {};
  std::vector<std::string> out;
  for (const DeviceNode& card : *own) {
    const auto same = [&](const DeviceNode& node) {
      return node.dev_major == card.dev_major && node.dev_minor == card.dev_minor;
    };
    if (is_card(card) && std::none_of(theirs->begin(), theirs->end(), same)) {
      out.push_back(escape_foreign(card.path));
    }
  }
  return out;
}

Uuids target_uuids(const Snapshot& snapshot) {
  Uuids out;
  for (const ProbeDevice& device : snapshot.probe.devices) {
    if (!device.uuid.empty()) out.push_back(device.uuid);
  }
  return out;
}

Uuids lacking(const Uuids& wanted, const Uuids& there) {
  Uuids out;
  for (const std::string& uuid : wanted) {
    if (std::find(there.begin(), there.end(), uuid) == there.end()) {
      out.push_back(escape_foreign(uuid));
    }
  }
  return out;
}

/// A variable makes cards invisible without taking them away: imports work all the same.
bool variable_explains(const Snapshot& snapshot, const PeerFacts& peer) {
  const std::string* theirs = peer.visible_devices.get();
  return (theirs != nullptr && !theirs->empty()) ||
         probe_variable(snapshot, "CUDA_VISIBLE_DEVICES") != nullptr;
}

/// What one peer sees of the target's cards.
struct CardView {
  std::vector<std::string> nodes;  ///< Cards whose node the peer lacks.
  Uuids own;
  Uuids theirs;
  Uuids unseen;             ///< UUIDs that only the target lists.
  bool same_cards = false;  ///< Both lists are known and hold the same cards.
};

CardView view_of(const Snapshot& snapshot, const PeerFacts& peer) {
  CardView view{cards_without_node(snapshot, peer), target_uuids(snapshot), peer.uuids, {}, false};
  if (view.own.empty() || view.theirs.empty()) return view;
  view.unseen = lacking(view.own, view.theirs);
  view.same_cards = view.unseen.empty() && lacking(view.theirs, view.own).empty();
  return view;
}

/// Whether the peer's answer speaks for missing cards; 201 does only where PIDs do not explain it.
bool code_says_so(const Observations& seen, const PeerFacts& peer, const CardView& view) {
  const auto code = open_code(seen);
  if (!code) return false;
  const bool cards_differ = !view.unseen.empty() || !view.nodes.empty();
  switch (*code) {
    case 100:
    case 101:
    case 205: return true;
    case 1: return cards_differ;
    case 201: {
      const Likeness pids = compare_namespace(seen.snapshot.process, peer, "pid");
      return cards_differ && pids != Likeness::different &&
             !is_same_process(seen.snapshot.process, peer);
    }
    default: return false;
  }
}

std::optional<Severity> visibility_severity(const Observations& seen, const PeerFacts& peer,
                                            const CardView& view) {
  const auto code = open_code(seen);
  if (code == 0) {
    const bool order_differs = view.same_cards && view.own != view.theirs;
    return order_differs ? std::optional(Severity::warning) : std::nullopt;
  }
  if (!view.nodes.empty() || code_says_so(seen, peer, view)) return Severity::error;
  // Without the peer's answer a difference counts only where no variable could have made it.
  const bool unexplained = !view.unseen.empty() && !variable_explains(seen.snapshot, peer);
  if (unexplained && !code) return Severity::error;
  if (view.same_cards && view.own != view.theirs && !code) return Severity::warning;
  return std::nullopt;
}

std::string shown_list(const Uuids& uuids) {
  std::vector<std::string> out;
  for (const std::string& uuid : uuids) out.push_back(escape_foreign(uuid));
  return out.empty() ? std::string("not known") : join(out, ", ");
}

std::string visible_text(const Snapshot& snapshot, const PeerFacts& peer) {
  const std::string* own = probe_variable(snapshot, "CUDA_VISIBLE_DEVICES");
  const std::string* theirs = peer.visible_devices.get();
  const std::string not_set = "not set";
  return "CUDA_VISIBLE_DEVICES: target " + (own == nullptr ? not_set : "\"" + told(*own) + "\"") +
         ", peer " +
         (theirs == nullptr ? "not known"
          : theirs->empty() ? not_set
                            : "\"" + told(*theirs) + "\"");
}

std::vector<Finding> judge_visibility(const Observations& seen, const PeerFacts& peer) {
  const CardView view = view_of(seen.snapshot, peer);
  const auto severity = visibility_severity(seen, peer, view);
  if (!severity) return {};
  const bool warning = *severity == Severity::warning;
  Finding finding =
      start_finding("IP03", *severity,
                    warning ? "The target and its peer number the cards differently."
                            : "The peer does not have the cards whose memory the target shares.");
  finding.evidence.push_back("Of " + named(peer));
  if (!view.nodes.empty()) {
    finding.evidence.push_back("Device nodes of the target that the peer lacks: " +
                               join(view.nodes, ", "));
  }
  if (!view.own.empty() || !view.theirs.empty()) {
    finding.evidence.push_back("Cards of the target: " + shown_list(view.own) +
                               "; of the peer: " + shown_list(view.theirs));
  }
  finding.evidence.push_back(visible_text(seen.snapshot, peer));
  for (std::string& sentence : open_evidence(seen)) finding.evidence.push_back(std::move(sentence));
  if (const std::string* cgroup = peer.rights.cgroup.get()) {
    finding.evidence.push_back("cgroup of the peer: " + told(*cgroup));
  }
  if (warning) {
    finding.effect = "an ordinal means another card on the other side";
    finding.fixes = {"Name cards by UUID between processes, not by ordinal"};
  } else {
    finding.fixes = {
        "Give both the same cards (--gpus=N for both, --gpu-bind=none, one GPU claim)",
        "Or turn custom all-reduce off (vLLM and SGLang: --disable-custom-all-reduce)"};
    finding.no_help = {"CUDA_VISIBLE_DEVICES: a card that only it hides can be opened"};
  }
  return {std::move(finding)};
}

/// A handle is good for another process on the same node, nowhere else.
std::vector<Finding> judge_scope(const Observations& seen, const PeerFacts& peer) {
  const auto code = open_code(seen);
  const bool own = is_same_process(seen.snapshot.process, peer);
  const bool own_refused = own && (!code || *code == 201);
  const bool other_node = code == 400 && !own && seen.snapshot.host.no_ipc_sign.empty();
  if (!own_refused && !other_node) return {};
  Finding finding =
      own_refused
          ? start_finding("IP07", Severity::warning, "The process opens its own IPC handle.")
          : start_finding("IP07", Severity::error,
                          "The handle means nothing to the peer (400): it is of another node.");
  finding.evidence = open_evidence(seen);
  finding.evidence.push_back("Target PID " + std::to_string(seen.snapshot.process.pid) + ", " +
                             named(peer));
  if (own_refused) {
    finding.fixes = {"Within one process use the pointer itself"};
  } else {
    finding.fixes = {"Between nodes use fabric handles or NCCL"};
  }
  return {std::move(finding)};
}

/// The peer's answer, where none of the above explains it.
std::vector<Finding> judge_refusal(const Observations& seen, const PeerFacts& peer) {
  const auto code = open_code(seen);
  if (!code || *code == 0 || !seen.snapshot.host.no_ipc_sign.empty()) return {};
  Finding finding =
      start_finding("IP09", Severity::error,
                    "The peer cannot open a handle of the target: " + shown_code(*code) + ".");
  finding.evidence = open_evidence(seen);
  finding.evidence.push_back("Of " + named(peer));
  finding.fixes = {
      "Turn custom all-reduce off meanwhile (vLLM and SGLang: "
      "--disable-custom-all-reduce)",
      "Compare both processes: cards, driver, preloaded libraries"};
  return {std::move(finding)};
}

bool explains_a_failure(const Finding& finding) { return finding.severity >= Severity::warning; }

}  // namespace

std::vector<Finding> judge_peers(const Observations& seen) {
  std::vector<Finding> out;
  for (const PeerFacts& peer : seen.snapshot.peers) {
    std::vector<Finding> mine = judge_namespaces(seen, peer);
    append_findings(mine, judge_visibility(seen, peer));
    append_findings(mine, judge_scope(seen, peer));
    if (std::none_of(mine.begin(), mine.end(), explains_a_failure)) {
      append_findings(mine, judge_refusal(seen, peer));
    }
    append_findings(out, std::move(mine));
  }
  return out;
}

}  // namespace cudart_doctor
