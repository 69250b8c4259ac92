#include "kernels_on_threads.hpp"

#include <tuple>
#include <utility>

#include "cuda_on_threads.hpp"

namespace cuda_on_threads {
namespace {

#define __device__
#define __forceinline__ inline
#define __noinline__
#define __global__
#define __shared__ static
#define __launch_bounds__(threads)
// g++ calls an array's size, deduced as int, a conversion.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include "../../../src/cuda/kernels/mhc.cu"
#pragma GCC diagnostic pop

template <typename... Parameters, std::size_t... I>
void run(void (*kernel)(Parameters...), const cudart_doctor::LaunchShape& shape,
         std::span<void*> arguments, std::index_sequence<I...>) {
  run_grid(shape.blocks, shape.threads,
           [&] { kernel(*static_cast<std::remove_reference_t<Parameters>*>(arguments[I])...); });
}

template <typename... Parameters>
cudart_doctor::CudaStatus run(void (*kernel)(Parameters...),
                              const cudart_doctor::LaunchShape& shape, std::span<void*> arguments) {
  if (arguments.size() != sizeof...(Parameters)) return {1, "launch"};
  run(kernel, shape, arguments, std::index_sequence_for<Parameters...>{});
  return {};
}

}  // namespace
}  // namespace cuda_on_threads

namespace cudart_doctor {

unsigned kernel_round_to_bf16(float value) { return cuda_on_threads::round_to_bf16(value); }

CudaStatus ThreadLauncher::bind() {
  ++binds;
  return {};
}

CudaStatus ThreadLauncher::launch(std::size_t kernel, const LaunchShape& shape,
                                  std::span<void*> arguments) {
  using namespace cuda_on_threads;
  ++launches;
  switch (kernel) {
    case 0: return run(mhc_split_sinkhorn, shape, arguments);
    case 1: return run(mhc_pre, shape, arguments);
    case 2: return run(mhc_post, shape, arguments);
    case 3: return run(mhc_fused_post_pre, shape, arguments);
    default: return {1, "launch"};
  }
}

CudaStatus HostMemory::allocate(std::size_t bytes, DevicePointer& out) {
  auto block = std::make_unique<std::byte[]>(bytes);
  out = reinterpret_cast<DevicePointer>(block.get());
  blocks_[out] = std::move(block);
  return {};
}

CudaStatus HostMemory::release(DevicePointer pointer) {
  return blocks_.erase(pointer) == 1 ? CudaStatus{} : CudaStatus{1, "release"};
}

CudaStatus HostMemory::fill(DevicePointer pointer, std::uint8_t byte, std::size_t bytes) {
  std::memset(reinterpret_cast<void*>(pointer), byte, bytes);
  return {};
}

CudaStatus HostMemory::upload(DevicePointer to, std::span<const std::byte> from) {
  if (!from.empty()) std::memcpy(reinterpret_cast<void*>(to), from.data(), from.size());
  return {};
}

CudaStatus HostMemory::download(std::span<std::byte> to, DevicePointer from) {
  if (!to.empty()) std::memcpy(to.data(), reinterpret_cast<const void*>(from), to.size());
  return {};
}

}  // namespace cudart_doctor
