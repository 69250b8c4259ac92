// One running child of the probe as its parent sees it: frames as they come, what it prints (head
// and tail), which stage is open and since when, and how it ended.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cudart_doctor/model/probe.hpp"
#include "cudart_doctor/probe/protocol.hpp"
#include "cudart_doctor/sys/child_process.hpp"
#include "start_child.hpp"

namespace cudart_doctor {

/// The first and the last bytes of a text that may have no end.
class HeadAndTail {
 public:
  void add(std::string_view bytes);
  [[nodiscard]] std::string text() const;

 private:
  static constexpr std::size_t kPart = 8u << 10;
  std::string head_;
  std::string tail_;
  std::uint64_t left_out_ = 0;
};

/// A stage whose first record has come.
struct OpenStage {
  std::size_t place = 0;  ///< Of its runtime in the order.
  StageResult stage;
  SteadyTime since;
};

class ChildStream {
 public:
  ChildStream(ProbeSide side, StartedChild child);

  /// Reads what is there, never waits. Whole frames go to `sink`, in order; it returns false for
  /// one that cannot be (another runtime, going back). What is wrong afterwards: fault().
  void read_frames(const std::function<bool(const Frame&)>& sink);
  /// Takes what it printed, also when nobody wants more: a full pipe would stop it.
  void read_output();
  /// Looks whether it has ended; its process group is ended with it. True once it has.
  bool look();
  /// SIGKILL to it and its process group.
  void kill();
  /// Waits for a killed child. False: it is in uninterruptible sleep.
  bool reap(SteadyTime end);

  [[nodiscard]] ProbeSide side() const { return side_; }
  [[nodiscard]] pid_t pid() const { return child_.pid; }
  [[nodiscard]] int results_fd() const { return child_.results.get(); }
  [[nodiscard]] int output_fd() const { return child_.output.get(); }
  [[nodiscard]] int handle() const { return child_.handle.get(); }
  [[nodiscard]] bool ended() const { return status_.has_value(); }
  [[nodiscard]] bool was_killed() const { return killed_; }
  [[nodiscard]] std::optional<int> status() const { return status_; }
  /// Why its frames cannot be used any more; "" while they can.
  [[nodiscard]] const std::string& fault() const { return fault_; }
  /// When the result descriptor was closed although it lives.
  [[nodiscard]] std::optional<SteadyTime> closed_at() const { return closed_at_; }
  /// Since when nothing came.
  [[nodiscard]] SteadyTime quiet_since() const { return quiet_since_; }
  [[nodiscard]] std::string output() const { return output_.text(); }

  std::optional<OpenStage> open;     ///< Kept by who takes the frames.
  std::optional<StageResult> last;   ///< The last stage that ended.
  std::optional<std::size_t> place;  ///< Place of its current runtime in the order.
  bool spoke = false;                ///< At least one frame came.
  bool done = false;                 ///< It said so.

 private:
  void take_bytes(std::string_view bytes, const std::function<bool(const Frame&)>& sink);

  ProbeSide side_;
  StartedChild child_;
  FrameReader reader_;
  HeadAndTail output_;
  std::uint64_t bytes_ = 0;
  std::string fault_;
  std::optional<SteadyTime> closed_at_;
  SteadyTime quiet_since_;
  std::optional<int> status_;
  bool killed_ = false;
};

}  // namespace cudart_doctor
