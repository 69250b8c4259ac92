// The mHC operators in double, with the definitions' rounding points: bf16 inputs are widened, the
// fused operator rounds the streams first, the norm scales the rounded sum. Values in, values out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cudart_doctor/cuda/bf16.hpp"
#include "cudart_doctor/cuda/mhc_ops.hpp"

namespace cudart_doctor {

/// A bf16 result before its last rounding.
struct Bf16Expected {
  double exact = 0;
  /// How far fp32 arithmetic may be off before that rounding: where terms cancel, or where the sum
  /// that the norm scales is so near to a tie that fp32 may round it the other way.
  double slack = 0;
  [[nodiscard]] Bf16 rounded() const { return bf16_from_double(exact); }
};

struct SplitExpected {
  std::vector<double> pre, post, comb;
};

/// `mixes` [T,24], T by its size.
SplitExpected split_reference(std::span<const double> mixes, std::span<const float> scale,
                              std::span<const float> base, const MhcConstants& constants);

/// T by the residual's size; without norm_weight no norm is computed.
struct PreView {
  std::int64_t hidden = 0;
  std::span<const Bf16> residual;
  std::span<const float> fn, scale, base;
  std::span<const Bf16> norm_weight;
  MhcConstants constants = {};
};

struct PreExpected {
  std::vector<double> mixes;
  SplitExpected split;
  std::vector<Bf16Expected> layer_input;  ///< Without norm.
  std::vector<Bf16Expected> normed;       ///< With norm; empty without norm_weight.
};

PreExpected pre_reference(const PreView& view);

struct PostView {
  std::int64_t hidden = 0;
  std::span<const Bf16> x, residual;
  std::span<const float> post, comb;
};

/// [T,4,H]
std::vector<Bf16Expected> post_reference(const PostView& view);

}  // namespace cudart_doctor
