// What a worker tells of its steps in memory that it shares with its supervisor, and the limits
// under which every worker runs.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "cudart_doctor/base/result.hpp"
#include "cudart_doctor/sys/supervise.hpp"

namespace cudart_doctor {

/// What one thread of the child is at. The sequence is odd while the rest changes.
struct SharedStep {
  mutable std::atomic<std::uint32_t> sequence{0};
  std::uint32_t stage_size = 0;
  std::uint32_t path_size = 0;
  std::array<char, 1024> stage{};
  std::array<char, 4096> path{};
};
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

/// Shared between parent and child: of its first thread and of its helper.
using SharedSteps = std::array<SharedStep, 2>;

struct UnmapSteps {
  void operator()(void* page) const;
};
using SharedPage = std::unique_ptr<void, UnmapSteps>;

/// Holds SharedSteps. Errors: io.
Result<SharedPage> make_page();

WorkStep read_step(const SharedStep& shared);

/// In a child that looks at foreign processes: memory ends at 512 MiB, stdout is nowhere, and a
/// crash leaves no core of a root program behind.
void limit_worker();

}  // namespace cudart_doctor
