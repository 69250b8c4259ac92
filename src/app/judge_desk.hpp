// The looks at processes of a launch: some at once, the others wait their turn.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cudart_doctor/app/forked_job.hpp"
#include "cudart_doctor/app/judgement.hpp"
#include "cudart_doctor/app/launch_book.hpp"
#include "cudart_doctor/sys/recorder_channel.hpp"

namespace cudart_doctor {

struct JudgeOrder {
  ImageId image = 0;
  pid_t pid = 0;
  JudgeMoment moment = JudgeMoment::none;
  std::optional<ConnectionId> waiting;  ///< The process waits for an answer there.
};

struct JudgeAnswer {
  JudgeOrder order;
  Judgement judgement;
};

class JudgeDesk {
 public:
  /// `look` runs in a child and gives write_judgement's bytes; it ends by itself after `timeout`.
  /// `memory` is the process's, or -1 where that may not be read.
  JudgeDesk(std::function<std::string(pid_t pid, int memory)> look,
            std::chrono::milliseconds timeout)
      : look_(std::move(look)), timeout_(timeout) {}

  void order(const JudgeOrder& order) { waiting_.push_back(order); }
  /// Whether `image` is being looked at, or waits for it.
  [[nodiscard]] bool has(ImageId image) const;
  [[nodiscard]] bool idle() const { return waiting_.empty() && running_.empty(); }
  /// Orders that were not begun are taken back.
  void drop_waiting() { waiting_.clear(); }
  /// Begins what may begin, and gives what is done.
  std::vector<JudgeAnswer> take();

  [[nodiscard]] std::vector<int> descriptors() const;
  /// When take() is worth calling without anything to read.
  [[nodiscard]] std::optional<SteadyTime> due() const;
  /// PIDs of the children; such a child was waited for.
  [[nodiscard]] const std::set<pid_t>& children() const { return children_; }
  void waited_for(pid_t pid) { children_.erase(pid); }

 private:
  struct Running {
    JudgeOrder order;
    ForkedJob job;
  };
  std::optional<JudgeAnswer> begin(const JudgeOrder& order);

  std::function<std::string(pid_t, int)> look_;
  std::chrono::milliseconds timeout_;
  std::deque<JudgeOrder> waiting_;
  std::vector<Running> running_;
  std::set<pid_t> children_;
};

}  // namespace cudart_doctor
