// What every step of a capture needs: the request, the rules, and the ways into the target.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "cudart_doctor/collect/capture.hpp"
#include "cudart_doctor/collect/silent_mounts.hpp"
#include "cudart_doctor/sys/proc_root.hpp"
#include "cudart_doctor/sys/process_memory.hpp"
#include "cudart_doctor/sys/target_files.hpp"

namespace cudart_doctor {

/// The reason that stands in a fact about a skipped path.
inline constexpr std::string_view kNoAnswer = "did not answer within the deadline";

/// The same for a file in /proc.
inline Error no_answer(const std::string& path) {
  return {ErrorKind::timeout, path + ": " + std::string(kNoAnswer), 0};
}

/// Lives as long as one capture; refers to things that its maker holds.
struct CaptureContext {
  const CaptureOptions& options;
  const CaptureRules& rules;
  const ProcDirectory& process;  ///< /proc/PID
  const TargetFiles& files;
  const StepCall& step;  ///< Of the thread that this context is for.
  /// silent_mounts of what is skipped.
  const std::set<std::string>& silent;

  /// Tells the supervisor what is touched next: the step may block for ever (FUSE, NFS).
  void progress(std::string_view stage, std::string_view path) const {
    if (step) step(stage, path);
  }
  /// `pid` where it is the process's number in our own PID namespace, else 0: a number in another
  /// namespace's /proc is another process in ours.
  [[nodiscard]] std::int64_t callable_pid(std::int64_t pid) const {
    return options.proc_root == "/proc" && process.is_procfs() ? pid : 0;
  }
  /// The target's memory; `pid` as ProcessMemory has it.
  [[nodiscard]] ProcessMemory memory(std::int64_t pid) const {
    const std::string path = process.shown("mem");
    auto refusal = is_skipped(path) ? std::optional(no_answer(path)) : std::nullopt;
    return {process, pid, options.memory, std::move(refusal)};
  }
  /// Nothing of this thread can block until it tells the next step.
  void rest() const { progress({}, {}); }
  /// True for a path that did not answer in an earlier attempt, or lies on such a file system.
  [[nodiscard]] bool is_skipped(const std::string& path) const {
    return options.skip_paths.contains(path) || lies_in(silent, path);
  }
};

}  // namespace cudart_doctor
