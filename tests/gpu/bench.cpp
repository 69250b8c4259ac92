#include "bench.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <vector>

namespace gpu_test {
namespace {

using namespace cudart_doctor;

constexpr std::int64_t kHidden = 7168;
constexpr std::int64_t kMostTokens = 2048;
constexpr std::int64_t kTokens[] = {1, 8, 32, 512, 2048};
// Each set is larger than any L2 cache; three in turn, so that none finds its own lines there.
constexpr std::size_t kSets = 3;
constexpr double kWanted = 0.8;

struct Set {
  DevicePointer x = 0, residual = 0, out = 0, post = 0, comb = 0, layer_input = 0;
};

class Clock {
 public:
  explicit Clock(const Api& api) : api_(api) {
    api_.event_create(&begin_, 0);
    api_.event_create(&end_, 0);
  }

  /// Microseconds of one call: the best of seven rounds of `calls` calls, after one to warm up.
  double microseconds(int calls, const std::function<void(std::size_t set)>& call) {
    double best = 1e30;
    for (int round = 0; round < 8; ++round) {
      api_.event_record(begin_, nullptr);
      for (int i = 0; i < calls; ++i) call(static_cast<std::size_t>(i) % kSets);
      api_.event_record(end_, nullptr);
      api_.event_synchronize(end_);
      float milliseconds = 0;
      api_.event_elapsed(&milliseconds, begin_, end_);
      if (round > 0) best = std::min(best, static_cast<double>(milliseconds) * 1e3 / calls);
    }
    return best;
  }

 private:
  const Api& api_;
  void* begin_ = nullptr;
  void* end_ = nullptr;
};

/// Zeroed: the values do not change the time.
DevicePointer zeros(DeviceMemory& memory, std::int64_t bytes) {
  DevicePointer pointer = 0;
  memory.allocate(static_cast<std::size_t>(bytes), pointer);
  memory.fill(pointer, 0, static_cast<std::size_t>(bytes));
  return pointer;
}

struct Buffers {
  explicit Buffers(DeviceMemory& memory)
      : fn(zeros(memory, 24 * 4 * kHidden * 4)),
        scale(zeros(memory, 12)),
        base(zeros(memory, 96)),
        norm_weight(zeros(memory, 2 * kHidden)) {
    for (Set& set : sets)
      set = {.x = zeros(memory, kMostTokens * kHidden * 2),
             .residual = zeros(memory, kMostTokens * 4 * kHidden * 2),
             .out = zeros(memory, kMostTokens * 4 * kHidden * 2),
             .post = zeros(memory, kMostTokens * 16),
             .comb = zeros(memory, kMostTokens * 64),
             .layer_input = zeros(memory, kMostTokens * kHidden * 2)};
  }
  std::array<Set, kSets> sets;
  DevicePointer fn, scale, base, norm_weight;
};

MhcPostArgs post_args(const Set& set, std::int64_t tokens) {
  return {.tokens = tokens,
          .hidden = kHidden,
          .x = set.x,
          .residual = set.residual,
          .post = set.post,
          .comb = set.comb,
          .out = set.out};
}

double post_time(Clock& clock, MhcOps& ops, const Buffers& buffers, std::int64_t tokens) {
  return clock.microseconds(
      30, [&](std::size_t i) { ops.mhc_post(post_args(buffers.sets[i], tokens)); });
}

double pre_time(Clock& clock, MhcOps& ops, const Buffers& buffers, std::int64_t tokens) {
  return clock.microseconds(9, [&](std::size_t i) {
    const Set& set = buffers.sets[i];
    ops.mhc_pre({.tokens = tokens,
                 .hidden = kHidden,
                 .residual = set.residual,
                 .fn = buffers.fn,
                 .scale = buffers.scale,
                 .base = buffers.base,
                 .norm_weight = buffers.norm_weight,
                 .post = set.post,
                 .comb = set.comb,
                 .layer_input = set.layer_input});
  });
}

double fused_time(Clock& clock, MhcOps& ops, const Buffers& buffers, std::int64_t tokens) {
  return clock.microseconds(9, [&](std::size_t i) {
    const Set& set = buffers.sets[i];
    const Set& next = buffers.sets[(i + 1) % kSets];
    ops.mhc_fused_post_pre({.before = post_args(set, tokens),
                            .fn = buffers.fn,
                            .scale = buffers.scale,
                            .base = buffers.base,
                            .norm_weight = buffers.norm_weight,
                            .post = next.post,
                            .comb = next.comb,
                            .layer_input = set.layer_input});
  });
}

}  // namespace

bool bench(const Api& api, MhcOps& ops, DeviceMemory& memory) {
  const Buffers buffers(memory);
  Clock clock(api);
  std::printf("H = %lld, best of seven rounds, buffers rotated\n", static_cast<long long>(kHidden));
  for (const std::int64_t tokens : kTokens)
    std::printf("T = %-5lld mhc_post %8.1f us  mhc_pre %8.1f us  fused %8.1f us\n",
                static_cast<long long>(tokens), post_time(clock, ops, buffers, tokens),
                pre_time(clock, ops, buffers, tokens), fused_time(clock, ops, buffers, tokens));

  // A copy reads and writes each byte: half of what mhc_post moves is copied.
  const std::int64_t moved = kMostTokens * (18 * kHidden + 80);
  std::array<DevicePointer, kSets> from = {};
  std::array<DevicePointer, kSets> to = {};
  for (std::size_t i = 0; i < kSets; ++i) {
    from[i] = zeros(memory, moved / 2);
    to[i] = zeros(memory, moved / 2);
  }
  const double copy = clock.microseconds(30, [&](std::size_t i) {
    api.copy(to[i], from[i], static_cast<std::size_t>(moved / 2), nullptr);
  });
  const double post = post_time(clock, ops, buffers, kMostTokens);
  if (const CudaStatus status = memory.synchronize(); !status.ok()) {
    std::printf("failed: %d\n", status.code);
    return false;
  }
  const auto gigabytes = [&](double us) { return static_cast<double>(moved) / us * 1e-3; };
  std::printf(
      "mhc_post T = 2048: %.1f us, %.0f GB/s; copy of the same bytes: %.1f us, %.0f GB/s; "
      "ratio %.3f (wanted %.1f)\n",
      post, gigabytes(post), copy, gigabytes(copy), copy / post, kWanted);
  return copy / post >= kWanted;
}

}  // namespace gpu_test
