// One CUDA code has several causes: the step, the side and the host's facts decide between them.
#include "probe_causes.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "cudart_doctor/analyze/catalogue.hpp"
#include "cudart_doctor/base/text.hpp"
#include "driver_in_use.hpp"
#include "probe_view.hpp"

namespace cudart_doctor {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 20> kPhrases{{
    {"DR01", "the driver library is a link-time stub"},
    {"DR02", "there is no driver library"},
    {"DR03", "the driver library is broken"},
    {"DR04", "the two halves of the driver do not fit each other"},
    {"DR05", "a compat libcuda stands before the host's driver"},
    {"DR06", "the compat libcuda does not support this card"},
    {"DR07", "the driver is older than this runtime"},
    {"DR08", "no image of the sample fits this driver and card"},
    {"DR09", "the fabric manager is not ready"},
    {"DR11", "no card can be used"},
    {"DR12", "MPS refuses the client"},
    {"DR13", "the card or its driver computes wrong results"},
    {"DR15", "the card has too little free memory"},
    {"IP04", "CUDA IPC is not supported on this platform"},
    {"IP06", "the cards do not reach each other"},
    {"IP08", "another library answers to the runtime's names"},
    {"IP09", "the CUDA IPC round trip fails"},
    {"RT05", "two runtimes of one major do not know each other's handles"},
    {"SY01", "the runtime lacks names that consumers bind"},
    {"SY05", "the runtime itself cannot be loaded or used"},
}};

struct Cause {
  std::string finding;
  std::string phrase{};
  std::optional<Owner> owner{};
};

/// What the causes depend on beside the stage; the driver is looked up once.
class Causes {
 public:
  explicit Causes(const Observations& seen)
      : seen_(seen), driver_(driver_in_use(seen)), no_driver_(is_driver_absent(seen)) {}

  [[nodiscard]] Cause of(const ProbedRuntime& runtime, const StageResult& stage) const {
    if (stage.stage == Stage::start) return {{}, "the probe's child could not be started"};
    if (stage.outcome == StageOutcome::skipped) return {"RT05"};
    if (stage.outcome == StageOutcome::fail) {
      auto cause = stage.code ? by_code(runtime, stage) : without_code(stage);
      if (cause) return *cause;
    }
    if (stage.outcome == StageOutcome::begun && loads_broken_driver(stage.stage)) return {"DR03"};
    if (is_ipc_stage(stage.stage)) return {ipc_finding(stage)};
    switch (stage.stage) {
      case Stage::symbols: return {symbols_finding(runtime)};
      case Stage::memory:
        // A call that fails is the runtime's; bytes that come back wrong are the card's.
        return {stage.outcome == StageOutcome::fail && !stage.code ? "DR13" : "SY05"};
      case Stage::kernels: return {kernels_finding(stage)};
      case Stage::control:
      case Stage::ptx: return {stage.outcome == StageOutcome::fail ? "DR13" : "SY05"};
      case Stage::peer_access: return {"IP06"};
      default: return {"SY05"};
    }
  }

 private:
  /// A cut library kills who loads it: the runtime opens the driver at its first call.
  [[nodiscard]] bool loads_broken_driver(Stage stage) const {
    return driver_ && driver_->kind == CompanionKind::driver_broken && stage > Stage::symbols &&
           stage <= Stage::context;
  }

  /// What the view or the order of the probe explains.
  [[nodiscard]] std::optional<Cause> without_code(const StageResult& stage) const {
    if (stage.stage == Stage::load && proc_is_foreign()) return foreign_proc();
    if (stage.stage != Stage::devices) return std::nullopt;
    if (stage.detail.find(kNoSuchDevice) != std::string::npos) {
      return Cause{{}, "a card that was asked for (--devices) is not here"};
    }
    return no_card();
  }

  [[nodiscard]] static Cause foreign_proc() {
    return {{}, "the probe's child sees the /proc of another PID namespace"};
  }

  /// The user may have hidden every card; else the cards or the driver are at fault.
  [[nodiscard]] Cause no_card() const {
    if (const std::string why = hidden_cards(seen_.snapshot); !why.empty()) {
      return {"DR14", "CUDA_VISIBLE_DEVICES " + why};
    }
    return {versions_differ() ? "DR04" : "DR11"};
  }

  [[nodiscard]] std::optional<Cause> by_code(const ProbedRuntime& runtime,
                                             const StageResult& stage) const {
    const int code = *stage.code;
    if (code >= 805 && code <= 810) return Cause{"DR12"};
    switch (code) {
      case 2: return Cause{"DR15"};
      case 46: return Cause{"DR11"};
      case 98:
      case 400:
        if (shares_process(runtime)) return Cause{"RT05"};
        break;
      case 200:
      case 209:
      case 218:
      case 221:
      case 222:
      case 223: return Cause{"DR08"};
      case 214:
      case 220: return Cause{"DR13"};
      case 802: return Cause{"DR09"};
      case 803:
        return Cause{driver_ && driver_->kind == CompanionKind::driver_compat ? "DR05" : "DR04"};
      case 804: return Cause{"DR06"};
      default: break;
    }
    if (is_ipc_stage(stage.stage) || stage.stage == Stage::peer_access) return std::nullopt;
    return by_start_code(runtime, code);
  }

  /// Codes with which CUDA does not start; in the stages of IPC they mean something else.
  [[nodiscard]] std::optional<Cause> by_start_code(const ProbedRuntime& runtime, int code) const {
    switch (code) {
      case 34: return Cause{"DR01"};
      case 35:
      case 36: return too_old(runtime, code);
      case 100: return no_card();
      case 101:
        if (hidden_cards(seen_.snapshot).empty()) return std::nullopt;
        return no_card();
      case 304: return proc_is_foreign() ? std::optional(foreign_proc()) : std::nullopt;
      case 999:
        if (versions_differ()) return Cause{"DR04"};
        if (!missing_nodes(seen_.snapshot).empty()) return Cause{"DR11"};
        return std::nullopt;
      default: return std::nullopt;
    }
  }

  /// 35 alone does not mean "too old": without any driver it is the same code.
  [[nodiscard]] std::optional<Cause> too_old(const ProbedRuntime& runtime, int code) const {
    std::optional<int> version = runtime.driver_version;
    if (!version && seen_.snapshot.probe.driver) version = seen_.snapshot.probe.driver->version;
    if (version && *version > 0) {
      const bool older = code == 36 || *version < version_of(runtime);
      return older ? std::optional(Cause{"DR07"}) : std::nullopt;
    }
    if (driver_ && driver_->kind == CompanionKind::driver_broken) return Cause{"DR03"};
    if (driver_ && driver_->kind == CompanionKind::driver_stub) return Cause{"DR01"};
    if (version || no_driver_) return Cause{"DR02"};
    return branch_is_older(runtime) ? std::optional(Cause{"DR07"}) : std::nullopt;
  }

  /// 13000 where only the major is known.
  [[nodiscard]] int version_of(const ProbedRuntime& runtime) const {
    if (runtime.runtime_version) return *runtime.runtime_version;
    const Candidate* candidate = candidate_of(seen_, runtime);
    return candidate == nullptr || !candidate->major ? 0 : *candidate->major * 1000;
  }

  /// The first driver branch of each CUDA major, for when the driver's own answer is not known.
  [[nodiscard]] bool branch_is_older(const ProbedRuntime& runtime) const {
    constexpr std::array<std::pair<int, std::string_view>, 3> kMinimum{
        {{11, "450"}, {12, "525"}, {13, "580"}}};
    if (!driver_ || driver_->version.empty()) return false;
    const int major = version_of(runtime) / 1000;
    return std::any_of(kMinimum.begin(), kMinimum.end(), [&](const auto& row) {
      return row.first == major && compare_versions(driver_->version, row.second) < 0;
    });
  }

  [[nodiscard]] bool versions_differ() const {
    const std::string* module = seen_.snapshot.host.kernel_module.get();
    return module != nullptr && driver_ && driver_->kind == CompanionKind::driver &&
           !driver_->version.empty() && compare_versions(driver_->version, *module) != 0;
  }

  /// In the target's mount namespace, but not in its PID namespace: /proc/self leads nowhere.
  [[nodiscard]] bool proc_is_foreign() const {
    const ProcessFacts& process = seen_.snapshot.process;
    const auto differs = [&](const std::string& name) {
      const auto ours = process.own_namespaces.find(name);
      const auto theirs = process.namespaces.find(name);
      return ours != process.own_namespaces.end() && theirs != process.namespaces.end() &&
             ours->second != theirs->second;
    };
    return differs("pid") && differs("mnt");
  }

  /// Another runtime of this major was in the child as well: handles may have been mixed up.
  [[nodiscard]] bool shares_process(const ProbedRuntime& runtime) const {
    const Candidate* candidate = candidate_of(seen_, runtime);
    if (runtime.alone || candidate == nullptr || !candidate->major) return false;
    const auto all = distinct_runtimes(seen_.snapshot, seen_.candidates);
    return std::count_if(all.begin(), all.end(), [&](const Candidate* other) {
             return other->major == candidate->major;
           }) > 1;
  }

  [[nodiscard]] std::string ipc_finding(const StageResult& stage) const {
    const bool says_unsupported = stage.outcome == StageOutcome::fail && stage.code == 801;
    if (!seen_.snapshot.host.no_ipc_sign.empty() || says_unsupported) return "IP04";
    const bool unreachable = !stage.code || *stage.code == 217 || *stage.code == 205;
    return is_between_cards(stage) && unreachable ? "IP06" : "IP09";
  }

  [[nodiscard]] static std::string symbols_finding(const ProbedRuntime& runtime) {
    if (!runtime.missing.empty()) return "SY01";
    return runtime.elsewhere.empty() ? "SY05" : "IP08";
  }

  /// The same kernel through the Driver API is the control: if it is right there, the runtime that
  /// launched it wrongly is to blame.
  [[nodiscard]] std::string kernels_finding(const StageResult& stage) const {
    if (stage.outcome == StageOutcome::begun) return "SY05";
    bool control_fails = false;
    for (const ProbedRuntime& runtime : seen_.snapshot.probe.runtimes) {
      for (const StageResult& other : runtime.stages) {
        if (other.stage != Stage::control || other.device != stage.device) continue;
        if (other.outcome == StageOutcome::pass) return "SY05";
        control_fails = control_fails || other.outcome == StageOutcome::fail;
      }
    }
    return control_fails || !stage.code ? "DR13" : "SY05";
  }

  const Observations& seen_;
  std::optional<Companion> driver_;
  bool no_driver_;
};

const ChildEnd& end_of(const ProbedRuntime& runtime, ProbeSide side) {
  return side == ProbeSide::importer ? runtime.importer : runtime.exporter;
}

/// The runner ended this side because the other one was gone: it waited, and did nothing wrong.
/// Where it ended both, the stage is the reason: records that cannot be read, or no more of them.
bool is_collateral(const ProbedRuntime& runtime, const StageResult& stage) {
  if (stage.outcome != StageOutcome::begun || stage.side == ProbeSide::runner) return false;
  const auto is_killed = [&](ProbeSide side) {
    return end_of(runtime, side).kind == ChildEndKind::killed;
  };
  const ProbeSide other =
      stage.side == ProbeSide::exporter ? ProbeSide::importer : ProbeSide::exporter;
  return is_killed(stage.side) && !is_killed(other);
}

/// The runner's note that a runtime failed beside others and passed alone, with a code of handles
/// that got into the wrong runtime.
bool is_quarrel(const StageResult& stage) {
  return stage.outcome == StageOutcome::skipped && stage.side == ProbeSide::runner &&
         (stage.code == 400 || stage.code == 98);
}

bool must_work(const Observations& seen, const ProbedRuntime& runtime) {
  const Candidate* candidate = candidate_of(seen, runtime);
  return runtime.skipped.empty() && !runtime.look_alike &&
         (candidate == nullptr || !is_fake(candidate->kind));
}

void complete(ProbeFailure& failure, const Cause& cause) {
  failure.finding = cause.finding;
  failure.cause = cause.phrase;
  failure.owner = cause.owner;
  for (const auto& [id, phrase] : kPhrases) {
    if (id == cause.finding) failure.cause = phrase;
  }
  if (const CatalogueEntry* entry = find_entry(cause.finding)) failure.owner = entry->owner;
}

}  // namespace

ProbeFailures probe_failures(const Observations& seen) {
  ProbeFailures failures;
  for (const ProbedRuntime& runtime : seen.snapshot.probe.runtimes) {
    if (!must_work(seen, runtime)) continue;
    for (const StageResult& stage : runtime.stages) {
      const bool failed = is_failed(stage.outcome) && !is_collateral(runtime, stage);
      if (failed || is_quarrel(stage)) {
        failures.push_back({&runtime, &stage, {}, {}, {}});
      }
    }
  }
  if (failures.empty()) return failures;
  const Causes causes(seen);
  for (ProbeFailure& failure : failures) {
    complete(failure, causes.of(*failure.runtime, *failure.stage));
  }
  return failures;
}

ProbeFailures explained_by(const ProbeFailures& failures, std::string_view id) {
  ProbeFailures out;
  std::copy_if(failures.begin(), failures.end(), std::back_inserter(out),
               [&](const ProbeFailure& failure) { return failure.finding == id; });
  return out;
}

std::string failure_sentence(const Observations& seen, const ProbeFailure& failure) {
  const StageResult& stage = *failure.stage;
  std::string text;
  if (stage.outcome == StageOutcome::begun) {
    text = stage.call.empty() ? "Never ended" : told(stage.call) + " never ended";
  } else if (stage.code) {
    text = (stage.call.empty() ? "A call" : told(stage.call)) + " gave " +
           shown_code(*stage.code, stage.call);
  } else {
    text = stage.call.empty() ? "Failed" : told(stage.call) + " failed";
  }
  text +=
      ": stage " + std::string(stage_name(stage.stage)) + ", " + std::string(side_name(stage.side));
  if (stage.device >= 0) text += ", device " + std::to_string(stage.device);
  if (is_between_cards(stage) && stage.peer_device >= 0) {
    text += " to " + std::to_string(stage.peer_device);
  }
  text += ", " + runtime_name(seen, *failure.runtime);
  if (!stage.detail.empty()) text += "; " + told(stage.detail);
  return text;
}

std::vector<std::string> failure_evidence(const Observations& seen, const ProbeFailures& failures) {
  constexpr std::size_t kMost = 4;
  std::vector<std::string> out;
  for (std::size_t i = 0; i < std::min(kMost, failures.size()); ++i) {
    out.push_back(failure_sentence(seen, failures[i]));
  }
  if (failures.size() > kMost)
    out.push_back(std::to_string(failures.size() - kMost) + " more like it");
  for (const std::string& difference : seen.snapshot.probe.differences) {
    out.push_back("Not confirmed for this process: " + told(difference));
  }
  return out;
}

std::vector<std::string> missing_nodes(const Snapshot& snapshot) {
  const auto* nodes = snapshot.process.rights.device_nodes.get();
  // WSL2 and Tegra have other nodes.
  if (nodes == nullptr || !snapshot.host.no_ipc_sign.empty()) return {};
  constexpr std::string_view kPrefix = "/dev/nvidia";
  const auto has = [&](std::string_view path) {
    return std::any_of(nodes->begin(), nodes->end(),
                       [&](const DeviceNode& node) { return node.path == path; });
  };
  const bool any_card = std::any_of(nodes->begin(), nodes->end(), [&](const DeviceNode& node) {
    return node.path.starts_with(kPrefix) &&
           parse_unsigned(std::string_view(node.path).substr(kPrefix.size()), 10).has_value();
  });
  std::vector<std::string> missing;
  if (!any_card) missing.emplace_back("/dev/nvidia0 and its like");
  for (const std::string_view path : {"/dev/nvidiactl", "/dev/nvidia-uvm"}) {
    if (!has(path)) missing.emplace_back(path);
  }
  return missing;
}

}  // namespace cudart_doctor
