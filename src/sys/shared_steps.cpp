#include "shared_steps.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "cudart_doctor/sys/proc_root.hpp"

namespace cudart_doctor {
namespace {

/// A process can make its description in memory refer to one text a million times. The worker then
/// runs out of its own memory, which is an error, and not out of the machine's.
void limit_memory() {
#ifndef DOCTOR_MEMORY_UNLIMITED
  constexpr rlim_t kMost = rlim_t{512} << 20U;
  rlimit limit = {};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur <= kMost) return;
  limit.rlim_cur = kMost;  // The hard limit stays: the child that loads libraries needs it.
  ::setrlimit(RLIMIT_AS, &limit);
#endif
}

}  // namespace

void UnmapSteps::operator()(void* page) const { ::munmap(page, sizeof(SharedSteps)); }

Result<SharedPage> make_page() {
  void* page = ::mmap(nullptr, sizeof(SharedSteps), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) {
    return tl::unexpected(system_error(errno, "shared page", Need::file_access));
  }
  new (page) SharedSteps;
  return SharedPage(page);
}

WorkStep read_step(const SharedStep& shared) {
  WorkStep step;
  // The child may be in the middle of a change; a dead one may have left it there.
  constexpr int kTries = 100;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const auto before = shared.sequence.load(std::memory_order_acquire);
    step.stage.assign(shared.stage.data(),
                      std::min<std::size_t>(shared.stage_size, shared.stage.size()));
    step.path.assign(shared.path.data(),
                     std::min<std::size_t>(shared.path_size, shared.path.size()));
    // Adds nothing, but the reads above stay above it. ThreadSanitizer knows no fence.
    if (before % 2 == 0 && before == shared.sequence.fetch_add(0, std::memory_order_acq_rel)) break;
  }
  return step;
}

void limit_worker() {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  limit_memory();
  // A worker that cannot be killed is left behind. Whoever reads the doctor's output to its end
  // must not wait for it.
  const int nothing = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nothing < 0) return;
  ::dup2(nothing, STDOUT_FILENO);
  if (nothing != STDOUT_FILENO) ::close(nothing);
}

void Progress::set(std::string_view stage, std::string_view path) {
  auto& shared = *static_cast<SharedStep*>(slot_);
  shared.sequence.fetch_add(1, std::memory_order_acq_rel);
  const auto stage_size = std::min(stage.size(), shared.stage.size());
  const auto path_size = std::min(path.size(), shared.path.size());
  if (stage_size > 0) std::memcpy(shared.stage.data(), stage.data(), stage_size);
  if (path_size > 0) std::memcpy(shared.path.data(), path.data(), path_size);
  shared.stage_size = static_cast<std::uint32_t>(stage_size);
  shared.path_size = static_cast<std::uint32_t>(path_size);
  shared.sequence.fetch_add(1, std::memory_order_release);
}

Progress Progress::helper() const { return Progress(static_cast<SharedStep*>(slot_) + 1); }

}  // namespace cudart_doctor
