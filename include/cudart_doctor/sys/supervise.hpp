// Runs work that may block for ever or crash in a forked child with a deadline. The child tells
// what it touches next in shared memory, so that its end can be explained. No threads here; the
// child may have two.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "cudart_doctor/base/result.hpp"

namespace cudart_doctor {

/// What the child was at: "read mapped object", "/mnt/models/libfoo.so".
struct WorkStep {
  std::string stage;
  std::string path;  ///< As bytes.
};

/// The child's way to tell its next step. Cheap: no system call. One for each thread.
class Progress {
 public:
  explicit Progress(void* page) : slot_(page) {}
  /// An empty stage: this thread is at nothing that can block.
  void set(std::string_view stage, std::string_view path);
  /// For a second thread, which is at nothing until it sets a step.
  [[nodiscard]] Progress helper() const;

 private:
  void* slot_;
};

struct WorkResult {
  std::string output;   ///< The report.
  std::string message;  ///< For the log; printable already.
  std::string note{};   ///< For a closer look at the log; printable already.
  std::string news{};   ///< A line for stderr that is no complaint; printable already.
  /// Lines for stderr as they stand.
  std::string annotations{};
  int code = 0;  ///< Exit code.
};

struct SuperviseOptions {
  std::chrono::milliseconds deadline{30000};  ///< For the whole work.
  std::chrono::milliseconds step_limit{0};    ///< For one step; 0: only the deadline counts.
};

/// For work that starts nothing which has to say something there: stderr becomes nowhere too. Where
/// such a child cannot be ended, whoever reads the program's stderr to its end would wait for it.
void give_up_standard_error();

class Supervisor {
 public:
  /// Runs `work` in a child and returns what it returned. At the deadline the child is killed and
  /// waited for at most 2 s; one in uninterruptible sleep is named and left. The child dies with
  /// the caller, by whatever signal that ends. Errors: timeout (names the step), io (the child
  /// crashed: names signal and step), limit (more than 1 GiB of output).
  Result<WorkResult> run(const SuperviseOptions& options,
                         const std::function<WorkResult(Progress&)>& work);

  /// The step that the child was at when run() returned; of two threads that of the one that has
  /// been at its step for longer.
  [[nodiscard]] const WorkStep& last_step() const { return last_step_; }

 private:
  WorkStep last_step_;
};

/// Supervisor::run without asking for the step afterwards.
Result<WorkResult> run_supervised(const SuperviseOptions& options,
                                  const std::function<WorkResult(Progress&)>& work);

/// Runs what may block for ever, and changes nothing in this process, in a child that is ended
/// after `limit`; where no child can be had, here. Returns what `work` returns. `step` is named
/// where it took too long. Errors: those of `work`, timeout.
Result<std::string> run_within(std::chrono::milliseconds limit, std::string_view step,
                               const std::function<Result<std::string>()>& work);

}  // namespace cudart_doctor
