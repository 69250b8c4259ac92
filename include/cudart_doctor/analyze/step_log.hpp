// StepLog: what a rule looked at, in order, each thing once. Long lists are cut when handed over;
// what was taken is never cut away.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "cudart_doctor/model/selection.hpp"

namespace cudart_doctor {

class StepLog {
 public:
  /// Whether steps are kept: a rule that is evaluated only for its answer needs none.
  enum class Mode : std::uint8_t { keep, discard };
  explicit StepLog(Mode mode = Mode::keep) : mode_(mode) {}

  /// Most steps that `take` hands over, its own note not counted.
  static constexpr std::size_t kMaxSteps = 64;

  /// `subject` as bytes; `reason` printable. An equal step is recorded once: a library has several
  /// lines in maps, and all of them get the same verdict.
  void add(std::string_view subject, StepVerdict verdict, std::string_view reason);
  /// Adds steps that another rule recorded.
  void append(const std::vector<Step>& steps);
  /// The steps, at most kMaxSteps, then "... N more" where some were left out.
  [[nodiscard]] std::vector<Step> take();

 private:
  Mode mode_;
  std::vector<Step> steps_;
  std::set<std::tuple<std::string, StepVerdict, std::string>> seen_;
};

}  // namespace cudart_doctor
