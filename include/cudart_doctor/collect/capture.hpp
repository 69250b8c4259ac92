// Live process to Snapshot. Reads only; never stops, traces or writes into the target.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/model/snapshot.hpp"

namespace cudart_doctor {

/// Decisions that capture asks for but does not take: the pure layers answer them.
struct CaptureRules {
  /// After the cheap ELF facts: walk symbols? search contents? (analyze/scan_plan)
  std::function<ScanPlan(const ElfFacts&, std::string_view path)> plan;
  std::function<bool(std::string_view path)> is_cuda_name;
  /// Whose file is worth knowing; `elf` is nullptr where it is not known. Empty: nobody's.
  std::function<bool(const ElfFacts* elf, std::string_view path)> wants_owner;
  /// What the second pass should read, asked once the first pass is complete.
  std::function<std::vector<DiskRequest>(const Snapshot&)> wanted;
};

/// Told before every step that can block: stage and path. The supervisor names them on timeout. An
/// empty stage: nothing is under way that can block.
using StepCall = std::function<void(std::string_view stage, std::string_view path)>;

struct CaptureOptions {
  std::int64_t pid = 0;
  std::string proc_root = "/proc";
  std::vector<std::int64_t> peers;  ///< Processes that the target shares device memory with.
  /// --python EXE, absolute, as the target sees it; empty: found from the target.
  std::string python;
  /// /proc/PID/mem, opened before; -1: it is opened where it is needed.
  int memory = -1;
  /// Paths that did not answer before: not touched again, nor is what else is mounted with them.
  std::set<std::string> skip_paths;
  StepCall progress;
  /// The same for a second thread, which then reads half of the objects. Empty: one thread does
  /// all.
  StepCall helper_progress;
};

/// Captures one process, and of each peer what decides whether the two can share memory. Errors, of
/// a peer as of the target: not_found (no such PID; kernel thread; zombie), permission (names what
/// is needed), gone (exited or PID reused in between), io; usage (a peer is the target itself).
Result<Snapshot> capture_process(const CaptureOptions& options, const CaptureRules& rules);

/// The process that listens on TCP `port` on this host, in any network namespace that can be seen.
/// Several processes that share the socket: the one that started first, the others in `also`.
struct PortOwner {
  std::int64_t pid = 0;
  std::vector<std::int64_t> also;
};
Result<PortOwner> find_listener(std::uint16_t port, const std::string& proc_root);

}  // namespace cudart_doctor
