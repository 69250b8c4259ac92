#include "cudart_doctor/cuda/bf16.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace cudart_doctor {
namespace {

constexpr int kMantissaBits = 7;
constexpr int kLowestExponent = -126;

constexpr Bf16 upper_half(std::uint32_t bits) { return static_cast<Bf16>(bits >> 16U); }

}  // namespace

float bf16_to_float(Bf16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16U);
}

Bf16 bf16_from_float(float value) { return bf16_from_double(static_cast<double>(value)); }

Bf16 bf16_from_double(double value) {
  if (!std::isfinite(value)) {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    return static_cast<Bf16>(upper_half(bits) | (std::isnan(value) ? 0x40U : 0U));
  }
  const double ulp = bf16_ulp(value);
  // Exact but for nearbyint: ulp is a power of two. The last step's overflow gives infinity.
  const double rounded = std::nearbyint(value / ulp) * ulp;
  return upper_half(std::bit_cast<std::uint32_t>(static_cast<float>(rounded)));
}

double bf16_ulp(double value) {
  const int exponent = value == 0 ? kLowestExponent : std::max(std::ilogb(value), kLowestExponent);
  return std::ldexp(1.0, exponent - kMantissaBits);
}

}  // namespace cudart_doctor
