// bfloat16 rounding against an oracle that measures distances, and the kernels' against ours.
#include "cudart_doctor/cuda/bf16.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>

#include "kernels_on_threads.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;

namespace {

constexpr std::uint32_t kLowerHalves[] = {0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF};

// Infinity stands for the value that the next exponent would have.
long double value_of(std::uint32_t upper) {
  const auto value = std::bit_cast<float>(upper << 16U);
  return std::isinf(value) ? std::copysign(std::ldexp(1.0L, 128), static_cast<long double>(value))
                           : static_cast<long double>(value);
}

// The nearer of the two neighbours; of two equally near ones that with an even last bit.
std::uint32_t nearest(float value) {
  const std::uint32_t below = std::bit_cast<std::uint32_t>(value) >> 16U;
  if (std::isinf(value)) return below;
  const std::uint32_t above = below + 1;
  const long double to_below = std::abs(static_cast<long double>(value) - value_of(below));
  const long double to_above = std::abs(value_of(above) - static_cast<long double>(value));
  if (to_below == to_above) return below % 2 == 0 ? below : above;
  return to_below < to_above ? below : above;
}

// The first float that `round` takes elsewhere than the oracle does.
template <typename Round>
std::optional<std::uint32_t> first_difference(const Round& round) {
  for (std::uint32_t upper = 0; upper <= 0xFFFF; ++upper) {
    for (const std::uint32_t lower : kLowerHalves) {
      const auto value = std::bit_cast<float>(upper << 16U | lower);
      const std::uint32_t got = round(value);
      const bool right = std::isnan(value) ? std::isnan(bf16_to_float(static_cast<Bf16>(got)))
                                           : got == nearest(value);
      if (!right) return upper << 16U | lower;
    }
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("every upper half rounds to the nearest bf16, ties to even") {
  CHECK(first_difference([](float value) { return std::uint32_t{bf16_from_float(value)}; }) ==
        std::nullopt);
}

TEST_CASE("the kernels round every upper half as the oracle does") {
  CHECK(first_difference(kernel_round_to_bf16) == std::nullopt);
}

TEST_CASE("a double is rounded once, not by way of float") {
  const double just_above_a_tie = 1.0 + 0x1p-8 + 0x1p-40;
  CHECK(bf16_to_float(bf16_from_double(just_above_a_tie)) == 1.0078125F);
}

TEST_CASE("the distance of bf16 values is that of the power of two at or below") {
  CHECK(bf16_ulp(-1.0) == 0x1p-7);
  CHECK(bf16_ulp(7.99) == 0x1p-5);
  CHECK(bf16_ulp(0.0) == 0x1p-133);
}
