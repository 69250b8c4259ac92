// The stages of one round trip: each by itself in the first round, all inside ipc_again later.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "child_frames.hpp"

namespace cudart_doctor {

class RoundStages {
 public:
  RoundStages(const StageFrames& frames, Place place, std::uint32_t round)
      : frames_(frames), place_(place), again_(round > 1) {
    if (again_) frames_.begin(Stage::ipc_again, place_);
  }

  void begin(Stage stage) {
    if (!again_) frames_.begin(stage, place_);
  }
  void end(Stage stage, StageAnswer answer) {
    if (!again_) {
      frames_.end(stage, place_, answer);
    } else if (!answer.ok() && answer_.ok()) {
      answer.detail = std::string(kStageNames[static_cast<std::size_t>(stage)]) +
                      (answer.detail.empty() ? "" : ": " + answer.detail);
      answer_ = std::move(answer);
    }
  }
  template <typename Work>
  StageAnswer run(Stage stage, Work&& work) {
    begin(stage);
    StageAnswer answer = std::forward<Work>(work)();
    end(stage, answer);
    return answer;
  }
  void skip(Stage stage, std::string_view reason) { end(stage, skipped(std::string(reason))); }
  /// After the last stage of the round.
  void finish() {
    if (again_) frames_.end(Stage::ipc_again, place_, answer_);
  }
  [[nodiscard]] Place place() const { return place_; }

 private:
  const StageFrames& frames_;
  Place place_;
  bool again_;
  StageAnswer answer_ = passed();  ///< Of the whole round: the first that was not right.
};

}  // namespace cudart_doctor
