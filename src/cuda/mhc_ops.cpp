#include "cudart_doctor/cuda/mhc_ops.hpp"

#include <array>

namespace cudart_doctor {
namespace {

// Block sizes are compiled into the kernels: kernels/mhc.cu.
constexpr std::uint32_t kSplitThreads = 128;
constexpr std::int64_t kSplitTokens = 8;
constexpr std::uint32_t kPreThreads = 256;
constexpr std::uint32_t kPostThreads = 128;
constexpr std::int64_t kPostWidth = 1024;

constexpr std::int64_t kMostBlocks = 0x7FFFFFFF;   // CUDA's limit of a grid in x.
constexpr std::int64_t kMostHidden = 0x1000'0000;  // 4 H has to be an int.

constexpr int kInvalidValue = 1;  // cudaErrorInvalidValue, CUDA_ERROR_INVALID_VALUE
constexpr int kNotSupported = 801;

// The kernels take it by value.
static_assert(sizeof(MhcConstants) == 24);

constexpr std::int64_t rounded_up(std::int64_t count, std::int64_t unit) {
  return count / unit + (count % unit != 0 ? 1 : 0);
}

bool sane_hidden(std::int64_t hidden) { return hidden >= 1 && hidden <= kMostHidden; }

struct Launch {
  MhcKernel kernel;
  std::int64_t blocks;
  std::uint32_t threads;
};

// Parameters by value, as the launch reads them through pointers.
template <typename... Parameters>
CudaStatus launch(KernelLauncher& launcher, const Launch& what, Parameters... parameters) {
  if (what.blocks > kMostBlocks) return {kInvalidValue, "mHC blocks"};
  std::array<void*, sizeof...(Parameters)> arguments = {static_cast<void*>(&parameters)...};
  return launcher.launch(
      static_cast<std::size_t>(what.kernel),
      {.blocks = static_cast<std::uint32_t>(what.blocks), .threads = what.threads}, arguments);
}

}  // namespace

CudaStatus MhcOps::bound() {
  std::call_once(once_, [this] { bind_status_ = launcher_.bind(); });
  return bind_status_;
}

bool MhcOps::available(MhcKernel kernel) {
  return !bound().ok() || launcher_.has(static_cast<std::size_t>(kernel));
}

CudaStatus MhcOps::ready(MhcKernel kernel) {
  if (const CudaStatus status = bound(); !status.ok()) return status;
  if (launcher_.has(static_cast<std::size_t>(kernel))) return {};
  return {kNotSupported, mhc_kernel_names()[static_cast<std::size_t>(kernel)]};
}

CudaStatus MhcOps::hc_split_sinkhorn(const SplitSinkhornArgs& args) {
  if (args.tokens < 0 || args.constants.iterations < 1)
    return {kInvalidValue, "hc_split_sinkhorn arguments"};
  if (args.tokens == 0) return {};
  if (const CudaStatus status = ready(MhcKernel::split_sinkhorn); !status.ok()) return status;
  return launch(launcher_,
                {MhcKernel::split_sinkhorn, rounded_up(args.tokens, kSplitTokens), kSplitThreads},
                args.mixes, args.scale, args.base, args.pre, args.post, args.comb, args.tokens,
                args.constants);
}

CudaStatus MhcOps::mhc_pre(const MhcPreArgs& args) {
  if (args.tokens < 0 || !sane_hidden(args.hidden) || args.constants.iterations < 1)
    return {kInvalidValue, "mhc_pre arguments"};
  if (args.tokens == 0) return {};
  if (const CudaStatus status = ready(MhcKernel::pre); !status.ok()) return status;
  return launch(launcher_, {MhcKernel::pre, args.tokens, kPreThreads}, args.residual, args.fn,
                args.scale, args.base, args.norm_weight, args.post, args.comb, args.layer_input,
                static_cast<std::int32_t>(args.hidden), args.constants);
}

CudaStatus MhcOps::mhc_post(const MhcPostArgs& args) {
  if (args.tokens < 0 || !sane_hidden(args.hidden)) return {kInvalidValue, "mhc_post arguments"};
  if (args.tokens == 0) return {};
  if (const CudaStatus status = ready(MhcKernel::post); !status.ok()) return status;
  const std::int64_t parts = rounded_up(args.hidden, kPostWidth);
  if (args.tokens > kMostBlocks / parts) return {kInvalidValue, "mhc_post arguments"};
  return launch(launcher_, {MhcKernel::post, args.tokens * parts, kPostThreads}, args.x,
                args.residual, args.post, args.comb, args.out,
                static_cast<std::int32_t>(args.hidden));
}

CudaStatus MhcOps::mhc_fused_post_pre(const MhcFusedArgs& args) {
  const MhcPostArgs& before = args.before;
  if (before.tokens < 0 || !sane_hidden(before.hidden) || args.constants.iterations < 1)
    return {kInvalidValue, "mhc_fused_post_pre arguments"};
  if (before.tokens == 0) return {};
  if (const CudaStatus status = ready(MhcKernel::fused_post_pre); !status.ok()) return status;
  return launch(launcher_, {MhcKernel::fused_post_pre, before.tokens, kPreThreads}, before.x,
                before.residual, before.post, before.comb, before.out, args.fn, args.scale,
                args.base, args.norm_weight, args.post, args.comb, args.layer_input,
                static_cast<std::int32_t>(before.hidden), args.constants);
}

}  // namespace cudart_doctor
