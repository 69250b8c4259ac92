// What a probe child tells its runner: frames, and stages as a record before and one after.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cudart_doctor/cuda/launcher.hpp"
#include "cudart_doctor/probe/protocol.hpp"

namespace cudart_doctor {

/// The devices that a stage is about, as in StageResult.
struct Place {
  int device = -1;
  int peer_device = -1;
};

/// How a stage ended.
struct StageAnswer {
  StageOutcome outcome = StageOutcome::pass;
  std::optional<int> code;
  std::string call;
  std::string detail;
  [[nodiscard]] bool ok() const { return outcome == StageOutcome::pass; }
};

StageAnswer passed(std::string detail = {});
/// A call that did not give 0.
StageAnswer failed(const CudaStatus& status, std::string detail = {});
/// No call failed, and yet the result is not right.
StageAnswer wrong(std::string detail);
StageAnswer skipped(std::string reason);

/// "cudaIpcOpenMemHandle gave 201", or the detail where no call failed.
std::string describe(const StageAnswer& answer);

/// One write for each frame, so that a crash right after it loses nothing. Ends the process when
/// nobody reads any more.
class FrameOut {
 public:
  explicit FrameOut(int fd) : fd_(fd) {}
  void send(const Frame& frame) const;

 private:
  int fd_;
};

/// The stages of one candidate.
class StageFrames {
 public:
  StageFrames(const FrameOut& out, ProbeSide side, std::uint32_t runtime)
      : out_(out), side_(side), runtime_(runtime) {}

  void begin(Stage stage, Place place) const;
  void end(Stage stage, Place place, const StageAnswer& answer) const;
  void skip(Stage stage, Place place, std::string_view reason) const;

  /// `work` gives a StageAnswer.
  template <typename Work>
  StageAnswer run(Stage stage, Place place, Work&& work) const {
    begin(stage, place);
    StageAnswer answer = std::forward<Work>(work)();
    end(stage, place, answer);
    return answer;
  }

  [[nodiscard]] ProbeSide side() const { return side_; }
  [[nodiscard]] std::uint32_t runtime() const { return runtime_; }
  /// For frames that are no stages; `runtime` is filled in.
  void send(Frame frame) const;

 private:
  const FrameOut& out_;
  ProbeSide side_;
  std::uint32_t runtime_;
};

}  // namespace cudart_doctor
