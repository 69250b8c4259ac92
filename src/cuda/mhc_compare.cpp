#include "cudart_doctor/cuda/mhc_compare.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>

namespace cudart_doctor {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string place_of(const MhcTensor& tensor, std::size_t index) {
  auto rest = static_cast<std::int64_t>(index);
  std::string text;
  for (auto size = tensor.tail.rbegin(); size != tensor.tail.rend(); ++size) {
    text.insert(0, "[" + std::to_string(rest % *size) + "]");
    rest /= *size;
  }
  return std::string(tensor.name) + "[t=" + std::to_string(rest) + "]" + text;
}

// `error_of(i)` is infinite for what is no number.
template <typename ErrorOf>
MhcComparison largest(const MhcTensor& tensor, std::size_t count, MhcComparison result,
                      ErrorOf error_of) {
  std::optional<std::size_t> where;
  for (std::size_t i = 0; i < count; ++i) {
    const double error = error_of(i);
    if (where && !(error > result.largest_error)) continue;
    where = i;
    result.largest_error = error;
  }
  if (where) result.place = place_of(tensor, *where);
  result.pass = result.largest_error <= result.tolerance;
  if (std::isinf(result.largest_error)) {
    result.note = result.place + " was not written, or is no number";
  } else if (!result.pass) {
    result.note = result.place + " is wrong by more than the tolerance";
  }
  return result;
}

std::optional<MhcComparison> other_size(const MhcTensor& tensor, std::size_t got,
                                        std::size_t want) {
  if (got == want) return std::nullopt;
  return MhcComparison{.pass = false,
                       .largest_error = kInfinity,
                       .place = std::string(tensor.name),
                       .note = std::string(tensor.name) + " has another size than expected"};
}

/// A NaN compares as smaller than everything; it must not.
double finite_or_infinity(double error) { return std::isfinite(error) ? error : kInfinity; }

}  // namespace

MhcComparison compare_fp32(const MhcTensor& tensor, std::span<const float> got,
                           std::span<const double> want, double tolerance) {
  if (auto wrong = other_size(tensor, got.size(), want.size())) return *wrong;
  return largest(tensor, got.size(), {.tolerance = tolerance}, [&](std::size_t i) {
    return finite_or_infinity(std::abs(static_cast<double>(got[i]) - want[i]));
  });
}

MhcComparison compare_bf16(const MhcTensor& tensor, std::span<const Bf16> got,
                           std::span<const Bf16Expected> want) {
  if (auto wrong = other_size(tensor, got.size(), want.size())) return *wrong;
  return largest(
      tensor, got.size(), {.tolerance = kBf16Tolerance, .unit = "ulp"}, [&](std::size_t i) {
        const double error = finite_or_infinity(
            std::abs(static_cast<double>(bf16_to_float(got[i])) - want[i].exact) - want[i].slack);
        return std::max(error, 0.0) / bf16_ulp(want[i].exact);
      });
}

MhcComparison compare_bits(const MhcTensor& tensor, std::span<const Bf16> got,
                           std::span<const Bf16> want) {
  if (auto wrong = other_size(tensor, got.size(), want.size())) return *wrong;
  return largest(tensor, got.size(), {.unit = "ulp"}, [&](std::size_t i) {
    return got[i] == want[i] ? 0.0 : std::abs(static_cast<double>(got[i]) - want[i]);
  });
}

MhcComparison worse(const MhcComparison& a, const MhcComparison& b) {
  if (a.pass != b.pass) return a.pass ? b : a;
  if (!a.pass) return a;
  // What had to be equal and is says nothing about how near the other came.
  if (a.tolerance == 0 || b.tolerance == 0) return a.tolerance == 0 ? b : a;
  return b.largest_error / b.tolerance > a.largest_error / a.tolerance ? b : a;
}

}  // namespace cudart_doctor
