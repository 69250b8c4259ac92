// Compares what a kernel wrote with the fp64 reference: the largest error, where it is, and the
// tolerance. A NaN, also the poison that outputs are filled with, is a failure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/cuda/mhc_reference.hpp"

namespace cudart_doctor {

/// fp32 results from equal mixes: rounding of some 2 * iterations divisions.
inline constexpr double kSplitTolerance = 2e-6;
/// fp32 results behind the dot products of mhc_pre.
inline constexpr double kMixTolerance = 1e-4;
/// bf16 results; half a unit is the rounding itself.
inline constexpr double kBf16Tolerance = 1.0;

/// Name and shape behind the token dimension: {"comb", {4, 4}}.
struct MhcTensor {
  std::string_view name;
  std::vector<std::int64_t> tail;
};

struct MhcComparison {
  bool pass = true;
  double largest_error = 0;
  double tolerance = 0;
  std::string_view unit = "";  ///< "ulp", "" for absolute errors.
  std::string place = {};      ///< "comb[t=3][1][2]"
  std::string note = {};       ///< Why it failed, in one sentence.
};

MhcComparison compare_fp32(const MhcTensor& tensor, std::span<const float> got,
                           std::span<const double> want, double tolerance);
/// In units in the last place of the fp64 value, beyond its slack.
MhcComparison compare_bf16(const MhcTensor& tensor, std::span<const Bf16> got,
                           std::span<const Bf16Expected> want);
/// Bit by bit.
MhcComparison compare_bits(const MhcTensor& tensor, std::span<const Bf16> got,
                           std::span<const Bf16> want);
/// The one that failed, or came nearer to it.
MhcComparison worse(const MhcComparison& a, const MhcComparison& b);

}  // namespace cudart_doctor
