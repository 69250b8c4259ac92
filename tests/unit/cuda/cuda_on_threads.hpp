// The part of CUDA C++ that kernels/mhc.cu uses, on host threads: a CUDA thread is a std::thread,
// a block's barrier a std::barrier. So a thread sanitizer sees races inside a block.
#pragma once

#include <algorithm>
#include <barrier>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace cuda_on_threads {

struct Index {
  unsigned x = 0;
};
struct Warp {
  explicit Warp(std::ptrdiff_t lanes) : barrier(lanes) {}
  std::barrier<> barrier;
  float slots[32] = {};
};
struct Block {
  explicit Block(unsigned threads) : barrier(static_cast<std::ptrdiff_t>(threads)) {}
  std::barrier<> barrier;
};

inline thread_local Index threadIdx;
inline thread_local Index blockIdx;
inline thread_local Index blockDim;
inline thread_local Warp* warp = nullptr;
inline thread_local Block* block = nullptr;
inline constexpr int warpSize = 32;

struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(16) float4 {
  float x, y, z, w;
};

inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline void __syncthreads() { block->barrier.arrive_and_wait(); }
inline void __syncwarp() { warp->barrier.arrive_and_wait(); }
/// All lanes of the warp take part.
inline float __shfl_xor_sync(unsigned /*all*/, float value, int mask) {
  const unsigned lane = threadIdx.x % 32;
  warp->slots[lane] = value;
  warp->barrier.arrive_and_wait();
  const float other = warp->slots[lane ^ static_cast<unsigned>(mask)];
  warp->barrier.arrive_and_wait();
  return other;
}

/// Runs `kernel` for each thread of each block, one block after the other. `threads` is a multiple
/// of 32. No thread may leave a kernel before the block's last barrier.
template <typename Kernel>
void run_grid(unsigned blocks, unsigned threads, const Kernel& kernel) {
  Block all(threads);
  std::vector<std::unique_ptr<Warp>> warps;
  for (unsigned i = 0; i < threads / 32; ++i) warps.push_back(std::make_unique<Warp>(32));
  std::vector<std::thread> workers;
  for (unsigned thread = 0; thread < threads; ++thread)
    workers.emplace_back([&, thread] {
      threadIdx.x = thread;
      blockDim.x = threads;
      block = &all;
      warp = warps[thread / 32].get();
      for (unsigned b = 0; b < blocks; ++b) {
        blockIdx.x = b;
        kernel();
        all.barrier.arrive_and_wait();
      }
    });
  for (std::thread& worker : workers) worker.join();
}

}  // namespace cuda_on_threads
