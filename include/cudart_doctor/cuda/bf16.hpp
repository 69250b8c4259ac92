// bfloat16 on the host: the upper half of a float, rounded to nearest even.
#pragma once

#include <cstdint>

namespace cudart_doctor {

/// bfloat16 by its bits.
using Bf16 = std::uint16_t;

float bf16_to_float(Bf16 value);
/// One rounding; a NaN stays one, beyond the largest value comes infinity.
Bf16 bf16_from_float(float value);
/// One rounding too: not by way of float, which would round twice.
Bf16 bf16_from_double(double value);
/// The distance of bfloat16 values at `value`'s magnitude: 2^-7 of the power of two at or below it.
double bf16_ulp(double value);

}  // namespace cudart_doctor
