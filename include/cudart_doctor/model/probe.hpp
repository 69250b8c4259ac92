// What the probe saw: two children that load a candidate's very file and use it. Part of the
// snapshot, so that a replay reports the same without a GPU. Plain data.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/model/maps.hpp"

namespace cudart_doctor {

/// In the order in which they run. Per candidate, some per device or pair of devices.
enum class Stage : std::uint8_t {
  start,        ///< The child runs: rights taken over, program executed.
  file,         ///< The file is as long as its program headers say.
  load,         ///< dlopen of exactly this file.
  symbols,      ///< Every bound name resolves inside this object.
  versions,     ///< cudaRuntimeGetVersion, cudaDriverGetVersion.
  devices,      ///< cudaGetDeviceCount and what it counts.
  context,      ///< Primary context of the device.
  memory,       ///< malloc, memset, memcpy round trip.
  kernels,      ///< mHC operators launched through the candidate, checked against fp64.
  control,      ///< One of them through the Driver API.
  ptx,          ///< The driver's JIT compiler, cache off.
  ipc_export,   ///< Memory handle.
  ipc_import,   ///< Opened in the other process.
  ipc_compute,  ///< The importer runs the next mHC operator on the shared buffer.
  ipc_verify,   ///< The exporter finds the right data.
  ipc_event,    ///< Event handle, waited for in the other process.
  ipc_close,    ///< Closed and freed on both sides.
  ipc_again,    ///< The whole round trip once more.
  peer_access,  ///< cudaDeviceCanAccessPeer and a copy between two devices.
};
inline constexpr std::array<std::string_view, 19> kStageNames = {
    "start",      "file",      "load",      "symbols",   "versions",   "devices",    "context",
    "memory",     "kernels",   "control",   "ptx",       "ipc_export", "ipc_import", "ipc_compute",
    "ipc_verify", "ipc_event", "ipc_close", "ipc_again", "peer_access"};

/// `begun`: the record before the stage came, the one after it never did.
enum class StageOutcome : std::uint8_t { pass, fail, skipped, begun };

/// Who ran the stage.
enum class ProbeSide : std::uint8_t { runner, exporter, importer };

struct StageResult {
  Stage stage = Stage::start;
  StageOutcome outcome = StageOutcome::skipped;
  ProbeSide side = ProbeSide::exporter;
  int device = -1;          ///< Ordinal among the visible devices; -1: none concerned.
  int peer_device = -1;     ///< The importer's device where it is another.
  std::optional<int> code;  ///< CUDA result code.
  std::string call;         ///< "cudaIpcOpenMemHandle"
  std::string detail;       ///< What was seen; for `skipped` the reason. Foreign text as bytes.
};

/// How a child ended.
enum class ChildEndKind : std::uint8_t {
  not_started,
  exited,     ///< By itself; `status` is the exit code.
  signalled,  ///< `status` is the signal.
  timed_out,  ///< Killed at the deadline.
  killed,     ///< Ended by the runner because the other child was gone.
  left,       ///< In uninterruptible sleep: could not be killed.
};
struct ChildEnd {
  ChildEndKind kind = ChildEndKind::not_started;
  int status = 0;
  std::int64_t pid = 0;
  std::string output;  ///< What it printed, head and tail, as bytes.
};

/// One candidate that was probed, or why it was not.
struct ProbedRuntime {
  std::uint32_t candidate = 0;  ///< Index into Report::candidates.
  std::string path;             ///< As in the candidate.
  bool selected = false;        ///< The headline's rule ends here.
  bool look_alike = false;      ///< No genuine runtime; most often asked for symbols only.
  bool alone = false;           ///< In a pair of its own (repeated after a failure, or at once).
  std::string skipped;          ///< Why nothing was run ("exists only in memory"); "" when run.
  std::string opened_by;        ///< "map_files", "root_path", "path": how the file was reached.
  std::vector<StageResult> stages;
  std::optional<int> runtime_version;  ///< 12080
  std::optional<int> driver_version;   ///< 13000; 0: no driver that can be used.
  std::vector<std::string> missing;    ///< Bound names that the object lacks, bind order.
  /// Bound names that resolve elsewhere: "cudaMalloc in /opt/hook.so".
  std::vector<std::string> elsewhere;
  /// How the pair that served it ended. not_started as well where it had been served and a later
  /// candidate ended the pair: that end is not on its account.
  ChildEnd exporter;
  ChildEnd importer;
};

/// How processes share device memory.
enum class Mechanism : std::uint8_t {
  legacy_memory,     ///< cudaIpcGetMemHandle on cudaMalloc memory.
  event,             ///< cudaIpcGetEventHandle.
  vmm_socket,        ///< cuMemExportToShareableHandle, descriptor sent over a socket.
  vmm_pidfd,         ///< The same, fetched with pidfd_getfd.
  fabric,            ///< Fabric handle: tried, the attribute is only a claim.
  multicast,         ///< Attribute only.
  legacy_on_vmm,     ///< Legacy handle of cuMemMap memory: refused by the driver.
  legacy_on_pool,    ///< Of cudaMallocAsync memory: refused.
  legacy_on_pinned,  ///< Of pinned host memory: refused.
};
inline constexpr std::array<std::string_view, 9> kMechanismNames = {
    "legacy_memory", "event",         "vmm_socket",     "vmm_pidfd",       "fabric",
    "multicast",     "legacy_on_vmm", "legacy_on_pool", "legacy_on_pinned"};

struct MechanismResult {
  Mechanism mechanism = Mechanism::legacy_memory;
  StageOutcome outcome = StageOutcome::skipped;
  int device = 0;
  std::optional<int> code;   ///< CUDA result code.
  std::optional<int> error;  ///< errno, for descriptors.
  std::string call;
  std::string detail;
};

struct ProbeDevice {
  int ordinal = 0;
  std::string name;
  std::string uuid;  ///< "GPU-cc1d84a2-..."
  int capability_major = 0;
  int capability_minor = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t free_bytes = 0;
  std::string image;  ///< "SASS" or "PTX": which of the sample's images ran.
};

/// The libcuda that the children got.
struct ProbeDriver {
  std::string path;  ///< As the child's loader shows it.
  FileKey key;
  int version = 0;  ///< cuDriverGetVersion
};

/// How the detail of stage `devices` ends where the runtime sees cards, but not all that were asked
/// for; their numbers follow.
inline constexpr std::string_view kNoSuchDevice = "there is no device ";

/// A device as NVML or /proc shows it, before anything of CUDA runs.
struct CardUse {
  std::string uuid;
  std::string node;  ///< "/dev/nvidia0"
  std::string name;
  std::string compute_mode;  ///< "default", "exclusive", "prohibited", "" when unknown.
  std::optional<std::uint64_t> used_bytes;
  std::optional<std::uint64_t> free_bytes;
  std::vector<std::int64_t> users;  ///< PIDs with memory on it or with its node open.
};

/// What was asked before a probe: is it somebody else's card?
struct ProbeGate {
  bool asked = false;
  std::vector<CardUse> cards;
  std::string cards_note;  ///< Why NVML could not tell; "" when it did.
  std::string mps;         ///< The MPS control socket that exists, or the variable; "" when none.
};

enum class ProbeDecision : std::uint8_t {
  not_asked,   ///< --probe off, or a command that probes nothing.
  refused,     ///< `reason`: somebody else's work, MPS, no memory, ...
  impossible,  ///< `reason`: nothing to probe, no GPU here, no rights.
  run,
};

struct ProbeFacts {
  ProbeDecision decision = ProbeDecision::not_asked;
  std::string reason;     ///< Why it was not run, one sentence.
  bool required = false;  ///< --probe require.
  ProbeGate gate;
  /// What differs between the children's view and the target's: the verdict is not confirmed then.
  std::vector<std::string> differences;
  std::vector<ProbeDevice> devices;
  std::optional<ProbeDriver> driver;
  std::vector<ProbedRuntime> runtimes;  ///< In the order of running.
  std::vector<MechanismResult> mechanisms;
  std::map<std::string, std::string> environment;  ///< CUDA-related variables the children had.
  std::uint32_t milliseconds = 0;                  ///< The whole probe.
};

}  // namespace cudart_doctor
