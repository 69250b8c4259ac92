// What the probe's children are told and what they tell. A child reads one order (JSON) from its
// order descriptor and writes frames (length, JSON) to its result descriptor: one before each stage
// and one after it, so that a crash names its stage. Pure: bytes in, values out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/model/probe.hpp"

namespace cudart_doctor {

/// Descriptors that a child starts with.
inline constexpr int kProbeResultFd = 3;      ///< Frames to the runner.
inline constexpr int kProbePeerFd = 4;        ///< SOCK_SEQPACKET to the other child; absent: alone.
inline constexpr int kProbeOrderFd = 5;       ///< The order, read to its end.
inline constexpr int kProbeFirstFileFd = 10;  ///< Candidate i of the order is at this + i.

/// The hidden argument by which main() knows a probe child, and the NVML child.
inline constexpr std::string_view kProbeChildArgument = "__probe-child";
inline constexpr std::string_view kGateChildArgument = "__gate-child";

/// One candidate as the child is told of it.
struct OrderedRuntime {
  std::uint32_t index = 0;  ///< Index into the plan's subjects; frames carry it.
  int fd = -1;              ///< Loaded as /proc/self/fd/N.
  bool symbols_only = false;
};

struct ProbeOrder {
  ProbeSide side = ProbeSide::exporter;
  std::vector<OrderedRuntime> runtimes;  ///< In turn.
  std::vector<std::string> bound_names;  ///< In bind order.
  std::vector<int> devices;              ///< Ordinals; empty: every visible one.
  bool all_pairs = true;                 ///< Also every ordered pair of the devices.
  std::string no_ipc;                    ///< Why legacy CUDA IPC is not tried; "": it is.
  bool driver_checks = true;             ///< Control, PTX and mechanisms; once for all candidates.
};

enum class FrameKind : std::uint8_t {
  begin,      ///< `stage` starts (outcome is `begun`).
  end,        ///< `stage` ended.
  names,      ///< `missing`, `elsewhere` of a candidate.
  versions,   ///< `runtime_version`, `driver_version`.
  device,     ///< One visible device.
  driver,     ///< The libcuda in use.
  mechanism,  ///< One mechanism's result.
  done,       ///< The child served its whole order.
};

struct Frame {
  FrameKind kind = FrameKind::begin;
  std::uint32_t runtime = 0;  ///< OrderedRuntime::index.
  StageResult stage;
  std::vector<std::string> missing;
  std::vector<std::string> elsewhere;
  int runtime_version = 0;
  int driver_version = 0;
  ProbeDevice device;
  ProbeDriver driver;
  MechanismResult mechanism;
};

/// A frame as bytes: 4 bytes of length, little-endian, and that many bytes of JSON.
std::string encode_frame(const Frame& frame);

/// Takes bytes as they come and gives whole frames. A child is not trusted: a length above 64 KiB,
/// bytes that are no JSON, unknown names or numbers out of range end the stream with an error.
class FrameReader {
 public:
  void add(std::string_view bytes);
  /// The next whole frame; nothing when more bytes are needed. Errors: malformed, limit.
  Result<std::optional<Frame>> next();

 private:
  std::string buffer_;
  std::size_t begin_ = 0;
};

std::string encode_order(const ProbeOrder& order);
/// Errors: malformed.
Result<ProbeOrder> parse_order(std::string_view text);

}  // namespace cudart_doctor
