// MhcOps: the manifold-constrained hyper-connection operators of DeepSeek-V4, n = 4 residual
// streams, bf16 streams and fp32 parameters. Bound on first use, once, from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/cuda/launcher.hpp"

namespace cudart_doctor {

/// The kernels; the number is KernelLauncher's index.
enum class MhcKernel : std::uint8_t { split_sinkhorn, pre, post, fused_post_pre };

/// The kernels' names in the images, in the order of MhcKernel.
std::span<const char* const> mhc_kernel_names();
/// SASS for sm_75 to sm_120 and PTX (ISA 6.5, sm_70), as a fat binary.
std::span<const std::byte> mhc_fat_binary();
/// The PTX alone, as a fat binary: for drivers that refuse the SASS of a newer toolkit.
std::span<const std::byte> mhc_ptx_fat_binary();
/// The PTX as text with a final NUL (data()[size()] is 0).
std::string_view mhc_ptx();

/// Production constants (DeepSeek-V4).
struct MhcConstants {
  int iterations = 20;  ///< Sinkhorn: row and column passes; at least 1.
  float pre_eps = 1e-6F;
  float sinkhorn_eps = 1e-6F;
  float rms_eps = 1e-6F;
  float norm_eps = 1e-6F;
  float post_multiplier = 2.0F;
};

/// mixes [T,24] -> pre [T,4], post [T,4], comb [T,4,4]; all fp32. scale [3], base [24].
struct SplitSinkhornArgs {
  std::int64_t tokens = 0;
  DevicePointer mixes = 0, scale = 0, base = 0;
  DevicePointer pre = 0, post = 0, comb = 0;
  MhcConstants constants = {};
};

/// residual [T,4,H] bf16, fn [24,4H] fp32 -> post [T,4], comb [T,4,4] fp32, layer_input [T,H] bf16.
struct MhcPreArgs {
  std::int64_t tokens = 0;
  std::int64_t hidden = 0;
  DevicePointer residual = 0, fn = 0, scale = 0, base = 0;
  DevicePointer norm_weight = 0;  ///< [H] bf16; 0: without the following norm.
  DevicePointer post = 0, comb = 0, layer_input = 0;
  MhcConstants constants = {};
};

/// x [T,H], residual [T,4,H] bf16, post [T,4], comb [T,4,4] -> out [T,4,H] bf16.
/// out[j] = post[j] x + sum over k of comb[k][j] residual[k]. `out` must not overlap an input.
struct MhcPostArgs {
  std::int64_t tokens = 0;
  std::int64_t hidden = 0;
  DevicePointer x = 0, residual = 0, post = 0, comb = 0;
  DevicePointer out = 0;
};

/// mhc_post of one sublayer, then mhc_pre of the next on the bf16-rounded result.
struct MhcFusedArgs {
  MhcPostArgs before = {};  ///< before.out is residual_cur.
  DevicePointer fn = 0, scale = 0, base = 0, norm_weight = 0;
  DevicePointer post = 0, comb = 0, layer_input = 0;
  MhcConstants constants = {};
};

class MhcOps {
 public:
  /// Binds nothing yet. `launcher` must outlive this.
  explicit MhcOps(KernelLauncher& launcher) : launcher_(launcher) {}

  /// Each binds on first use; a failure to bind is kept and answered to every later call and
  /// thread. T = 0 launches nothing and answers 0. Asynchronous: synchronize before reading.
  /// Codes beside the launcher's: 1 (invalid value) for sizes that make no sense, 801 (not
  /// supported) for a kernel that the launcher does not have.
  CudaStatus hc_split_sinkhorn(const SplitSinkhornArgs& args);
  CudaStatus mhc_pre(const MhcPreArgs& args);
  CudaStatus mhc_post(const MhcPostArgs& args);
  CudaStatus mhc_fused_post_pre(const MhcFusedArgs& args);

  /// Whether the operator can be called on this platform; binds. True where binding failed: then
  /// that failure is what a call answers.
  bool available(MhcKernel kernel);

 private:
  CudaStatus bound();
  CudaStatus ready(MhcKernel kernel);

  KernelLauncher& launcher_;
  std::once_flag once_;
  CudaStatus bind_status_;
};

/// How one operator did against the fp64 reference.
struct MhcOpResult {
  std::string op;  ///< "mhc_pre with norm"
  bool pass = false;
  bool available = true;   ///< False: neither passed nor failed, the launcher does not have it.
  CudaStatus status = {};  ///< The first call that failed, if one did.
  /// Of the place that is worst relative to its tolerance. Absolute for fp32 results, in units in
  /// the last place for bf16 results; infinite where a result was never written or is no number.
  double largest_error = 0;
  double tolerance = 0;
  std::string_view unit = "";  ///< "ulp" for bf16 results; static text.
  std::string place = {};      ///< "comb[t=3][1][2]"
  std::string note = {};       ///< Why it failed, in one sentence; "" when it passed.
};

/// Runs every operator on random inputs that would expose a wrong procedure, outputs poisoned
/// before, and compares with the fp64 reference: one result each for hc_split_sinkhorn, mhc_pre,
/// mhc_pre with norm, mhc_post and mhc_fused_post_pre. Uses less than 2 MiB of device memory at a
/// time and frees all of it. A few milliseconds, most of it the reference's.
std::vector<MhcOpResult> run_mhc_check(MhcOps& ops, DeviceMemory& memory);

}  // namespace cudart_doctor
