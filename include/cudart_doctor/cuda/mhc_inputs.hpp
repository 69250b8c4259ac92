// Inputs for the mHC operators that would expose a wrong procedure, and a generator of our own:
// the distributions of <random> differ between standard libraries.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cudart_doctor/cuda/bf16.hpp"
#include "cudart_doctor/cuda/mhc_ops.hpp"

namespace cudart_doctor {

inline constexpr std::int64_t kMhcStreams = 4;
inline constexpr std::int64_t kMhcMixes = 24;  ///< pre 0-3, post 4-7, comb 8-23 row-major.
inline constexpr std::int64_t kMhcEntries = 16;

/// splitmix64, and normal values by Box and Muller.
class MhcRandom {
 public:
  explicit MhcRandom(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  double uniform();  ///< [0, 1)
  double normal();   ///< Mean 0, standard deviation 1.

 private:
  std::uint64_t state_;
  double spare_ = 0;
  bool has_spare_ = false;
};

struct MhcInputSpec {
  std::uint64_t seed = 1;
  std::int64_t tokens = 8;
  std::int64_t hidden = 512;
  /// Standard deviation of token t's logits is logit_sd[t % 4]. Production has about 0.1; there a
  /// wrong Sinkhorn procedure ends at the same matrix, so others need large logits beside it.
  std::array<double, 4> logit_sd = {0.1, 1.0, 3.0, 8.0};
};

/// Row-major tensors, shapes as in mhc_ops.hpp.
struct MhcInputs {
  std::int64_t tokens = 0;
  std::int64_t hidden = 0;
  std::vector<Bf16> x, residual, norm_weight;
  std::vector<float> fn, scale, base;
  std::vector<float> mixes;       ///< For hc_split_sinkhorn.
  std::vector<float> post, comb;  ///< For mhc_post.
};

MhcInputs make_mhc_inputs(const MhcInputSpec& spec);

/// Constants under which a forgotten or misplaced epsilon, a fixed factor 2 and a wrong number of
/// iterations show: all large, all different, 2 iterations.
MhcConstants exposing_mhc_constants();

}  // namespace cudart_doctor
