#include "frame_sink.hpp"

#include <algorithm>
#include <utility>

namespace cudart_doctor {
namespace {

/// Stages of the driver, of its compiler, of the topology: another runtime would fail as well.
bool tests_runtime(Stage stage) {
  return stage != Stage::control && stage != Stage::ptx && stage != Stage::peer_access;
}

/// More than any machine has: a child that goes on and on is stopped.
constexpr std::size_t kMostDevices = 256;
constexpr std::size_t kMostMechanisms = kMostDevices * kMechanismNames.size();

bool add_device(const ProbeDevice& device, std::vector<ProbeDevice>& devices) {
  const auto known = std::find_if(devices.begin(), devices.end(), [&](const ProbeDevice& one) {
    return one.ordinal == device.ordinal;
  });
  if (known == devices.end()) {
    devices.push_back(device);
  } else if (known->image.empty()) {
    // Told again once a kernel ran; the free memory is what was free before.
    known->image = device.image;
  }
  return devices.size() <= kMostDevices;
}

bool add_mechanism(const MechanismResult& result, std::vector<MechanismResult>& results) {
  const auto known = std::find_if(results.begin(), results.end(), [&](const MechanismResult& one) {
    return one.mechanism == result.mechanism && one.device == result.device;
  });
  if (known == results.end()) {
    results.push_back(result);
  } else if (result.outcome == StageOutcome::fail) {
    *known = result;
  }
  return results.size() <= kMostMechanisms;
}

void add_begun(ChildStream& stream, std::string_view reason, PairOutcome& outcome) {
  OpenStage open = std::move(*stream.open);
  stream.open.reset();
  open.stage.outcome = StageOutcome::begun;
  open.stage.detail = reason;
  outcome.runtimes[open.place].stages.push_back(std::move(open.stage));
}

bool begin_stage(const Frame& frame, ChildStream& stream, PairOutcome& outcome) {
  if (stream.open) add_begun(stream, "no record of its end", outcome);
  // The runner itself tells of the start.
  if (frame.stage.stage == Stage::start) return true;
  stream.open = OpenStage{*stream.place, frame.stage, std::chrono::steady_clock::now()};
  stream.open->stage.side = stream.side();
  return true;
}

bool end_stage(const Frame& frame, ChildStream& stream, PairOutcome& outcome) {
  StageResult result = frame.stage;
  if (result.outcome == StageOutcome::begun) return false;
  stream.open.reset();
  if (result.stage == Stage::start && result.outcome == StageOutcome::pass) return true;
  result.side = stream.side();
  RuntimeRecord& record = outcome.runtimes[*stream.place];
  if (result.outcome == StageOutcome::fail && tests_runtime(result.stage)) record.failed = true;
  if (!tests_runtime(result.stage) && result.stage != Stage::peer_access) {
    outcome.driver_checked = true;
  }
  stream.last = result;
  record.stages.push_back(std::move(result));
  return true;
}

/// Moves the child to the frame's runtime; never back.
bool move_to(const Frame& frame, const ProbeOrder& order, ChildStream& stream,
             PairOutcome& outcome) {
  const auto found =
      std::find_if(order.runtimes.begin(), order.runtimes.end(),
                   [&](const OrderedRuntime& one) { return one.index == frame.runtime; });
  if (found == order.runtimes.end()) return false;
  const auto place = static_cast<std::size_t>(found - order.runtimes.begin());
  if (stream.place && place < *stream.place) return false;
  if (stream.open && stream.open->place != place) {
    add_begun(stream, "no record of its end", outcome);
  }
  if (stream.place != place) stream.last.reset();
  stream.place = place;
  return true;
}

}  // namespace

bool accept_frame(const Frame& frame, const ProbeOrder& order, ChildStream& stream,
                  PairOutcome& outcome) {
  if (stream.done) return false;
  stream.spoke = true;
  switch (frame.kind) {
    case FrameKind::begin:
      return move_to(frame, order, stream, outcome) && begin_stage(frame, stream, outcome);
    case FrameKind::end:
      return move_to(frame, order, stream, outcome) && end_stage(frame, stream, outcome);
    case FrameKind::names: {
      if (!move_to(frame, order, stream, outcome)) return false;
      RuntimeRecord& record = outcome.runtimes[*stream.place];
      if (record.missing.empty()) record.missing = frame.missing;
      if (record.elsewhere.empty()) record.elsewhere = frame.elsewhere;
      return true;
    }
    case FrameKind::versions: {
      if (!move_to(frame, order, stream, outcome)) return false;
      RuntimeRecord& record = outcome.runtimes[*stream.place];
      if (!record.runtime_version) record.runtime_version = frame.runtime_version;
      if (!record.driver_version) record.driver_version = frame.driver_version;
      return true;
    }
    case FrameKind::device: return add_device(frame.device, outcome.devices);
    case FrameKind::driver:
      if (!outcome.driver) outcome.driver = frame.driver;
      return true;
    case FrameKind::mechanism:
      outcome.driver_checked = true;
      return add_mechanism(frame.mechanism, outcome.mechanisms);
    case FrameKind::done: stream.done = true; return true;
  }
  return false;
}

void close_lost(ChildStream& stream, std::string_view reason, PairOutcome& outcome) {
  if (stream.open) {
    add_begun(stream, reason, outcome);
  } else if (stream.place) {
    StageResult result = stream.last.value_or(StageResult{});
    result.side = stream.side();
    result.outcome = StageOutcome::begun;
    result.detail = std::string(reason) + " after this stage";
    outcome.runtimes[*stream.place].stages.push_back(std::move(result));
  }
}

}  // namespace cudart_doctor
