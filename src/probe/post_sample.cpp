// Inputs, the fp64 reference of mhc_post, and the comparison in bf16 ulps.
#include "post_sample.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace cudart_doctor {
namespace {

using Layout = SampleLayout;

/// Uniform in [-1, 1), the same everywhere: the two children must agree.
class Uniform {
 public:
  float next() {
    // Numerical Recipes' 64-bit linear congruence; the high bits are good enough here.
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<float>(static_cast<double>(state_ >> 40) / 8388608.0 - 1.0);
  }

 private:
  std::uint64_t state_ = 20260712;
};

std::uint16_t to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

double from_bf16(std::uint16_t value) {
  return double{std::bit_cast<float>(std::uint32_t{value} << 16)};
}

/// The distance of neighbouring bf16 values at |value|.
double bf16_ulp(double value) {
  constexpr double kSmallest = 1e-30;
  return std::ldexp(1.0, std::ilogb(std::max(std::abs(value), kSmallest)) - 7);
}

std::string place_of(std::size_t index) {
  const auto hidden = static_cast<std::size_t>(Layout::kHidden);
  const auto streams = static_cast<std::size_t>(Layout::kStreams);
  return "out[t=" + std::to_string(index / (streams * hidden)) + "][" +
         std::to_string(index / hidden % streams) + "][" + std::to_string(index % hidden) + "]";
}

std::string number(double value) {
  // to_chars would need no locale; two digits are enough for a message.
  std::string text = std::to_string(value);
  while (text.find('.') != std::string::npos && text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

PostSample::PostSample() : inputs_(Layout::kOut - Layout::kResidual) {
  constexpr auto kTokens = static_cast<std::size_t>(Layout::kTokens);
  constexpr auto kHidden = static_cast<std::size_t>(Layout::kHidden);
  constexpr auto kStreams = static_cast<std::size_t>(Layout::kStreams);
  Uniform random;
  std::vector<std::uint16_t> residual(kTokens * kStreams * kHidden);
  std::vector<std::uint16_t> x(kTokens * kHidden);
  std::vector<float> post(kTokens * kStreams);
  std::vector<float> comb(kTokens * kStreams * kStreams);
  for (auto& value : residual) value = to_bf16(4 * random.next());
  for (auto& value : x) value = to_bf16(4 * random.next());
  for (auto& value : post) value = 1 + random.next();
  for (auto& value : comb) value = (1 + random.next()) / 2;
  const auto put = [this](std::size_t at, const auto& values) {
    std::memcpy(inputs_.data() + (at - Layout::kResidual), values.data(),
                values.size() * sizeof values[0]);
  };
  put(Layout::kResidual, residual);
  put(Layout::kX, x);
  put(Layout::kPost, post);
  put(Layout::kComb, comb);
  expected_.resize(residual.size());
  for (std::size_t t = 0; t < kTokens; ++t) {
    for (std::size_t j = 0; j < kStreams; ++j) {
      for (std::size_t h = 0; h < kHidden; ++h) {
        double sum = double{post[t * kStreams + j]} * from_bf16(x[t * kHidden + h]);
        for (std::size_t k = 0; k < kStreams; ++k) {
          sum += double{comb[(t * kStreams + k) * kStreams + j]} *
                 from_bf16(residual[(t * kStreams + k) * kHidden + h]);
        }
        expected_[(t * kStreams + j) * kHidden + h] = sum;
      }
    }
  }
}

std::vector<std::byte> PostSample::image(std::uint64_t mark) const {
  std::vector<std::byte> out(Layout::kOut);
  std::memcpy(out.data() + Layout::kMark, &mark, sizeof mark);
  std::memcpy(out.data() + Layout::kResidual, inputs_.data(), inputs_.size());
  return out;
}

MhcPostArgs PostSample::arguments(DevicePointer base) {
  return {.tokens = Layout::kTokens,
          .hidden = Layout::kHidden,
          .x = base + Layout::kX,
          .residual = base + Layout::kResidual,
          .post = base + Layout::kPost,
          .comb = base + Layout::kComb,
          .out = base + Layout::kOut};
}

SampleVerdict PostSample::compare(std::span<const std::byte> out) const {
  double largest = 0;
  std::size_t at = 0;
  for (std::size_t i = 0; i < expected_.size() && (i + 1) * 2 <= out.size(); ++i) {
    std::uint16_t raw = 0;
    std::memcpy(&raw, out.data() + 2 * i, sizeof raw);
    double error = std::abs(from_bf16(raw) - expected_[i]) / bf16_ulp(expected_[i]);
    if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
    if (error > largest) {
      largest = error;
      at = i;
    }
  }
  std::uint16_t raw = 0;
  if (2 * at + 2 <= out.size()) std::memcpy(&raw, out.data() + 2 * at, sizeof raw);
  return {.right = out.size() == Layout::kOutBytes && largest <= 1.0,
          .text = "largest error " + number(largest) + " bf16 ulp at " + place_of(at) + ": got " +
                  number(from_bf16(raw)) + ", expected " + number(expected_[at])};
}

CudaStatus PostSample::prepare(DeviceMemory& memory, DevicePointer base, std::uint64_t mark) const {
  const CudaStatus uploaded = memory.upload(base, image(mark));
  if (!uploaded.ok()) return uploaded;
  return memory.fill(base + Layout::kOut, kPoison, Layout::kOutBytes);
}

CudaStatus PostSample::fetch(DeviceMemory& memory, DevicePointer base,
                             SampleVerdict& verdict) const {
  std::vector<std::byte> out(Layout::kOutBytes);
  const CudaStatus status = memory.download(out, base + Layout::kOut);
  if (status.ok()) verdict = compare(out);
  return status;
}

}  // namespace cudart_doctor
