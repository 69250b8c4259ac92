// A second implementation of the mHC operators in double, written from the definitions, that can
// make each of the mistakes which implementations have made. Results rounded as a kernel's.
#pragma once

#include <string_view>
#include <vector>

#include "cudart_doctor/cuda/mhc_inputs.hpp"

namespace cudart_doctor {

enum class Mistake : std::uint8_t {
  none,
  no_softmax,           ///< exp, row pass, without the softmax and its eps.
  no_softmax_eps,       ///< No "+ eps" behind the softmax.
  one_pair_more,        ///< Iterations off by one.
  ends_on_row,          ///< Passes in the other order.
  comb_transposed_out,  ///< Columns 8-23 taken as comb[k,j].
  gates_swapped,        ///< Columns 0-3 for post, 4-7 for pre.
  post_without_factor,  ///< post without its multiplier.
  post_with_eps,
  pre_without_eps,
  pre_with_factor,
  rms_over_hidden,  ///< The dot products' mean over H.
  rms_eps_outside,  ///< 1 / (root + eps).
  stream_minor,     ///< The flattened streams taken as h * n + j.
  norm_over_width,  ///< The norm's mean over n * H.
  norm_without_eps,
  norm_without_weight,
  post_not_transposed,  ///< mhc_post with C X.
  post_drops_x,
  fused_unrounded,  ///< mhc_fused_post_pre on streams that were not rounded.
};

struct MutatedSplit {
  std::vector<double> pre;
  std::vector<float> post, comb, pre_rounded;
};
MutatedSplit mutated_split(const std::vector<double>& mixes, const MhcInputs& in,
                           const MhcConstants& constants, Mistake mistake);

struct MutatedPre {
  std::vector<float> post, comb;
  std::vector<Bf16> layer_input, normed;
};
/// Of any streams, not only in.residual.
MutatedPre mutated_pre(const std::vector<double>& residual, const MhcInputs& in,
                       const MhcConstants& constants, Mistake mistake);

/// Not rounded.
std::vector<double> mutated_post(const MhcInputs& in, Mistake mistake);

std::vector<double> widen(const std::vector<Bf16>& values);
std::vector<Bf16> round_all(const std::vector<double>& values);

}  // namespace cudart_doctor
