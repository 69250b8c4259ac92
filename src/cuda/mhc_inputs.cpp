#include "cudart_doctor/cuda/mhc_inputs.hpp"

#include <cmath>
#include <numbers>

namespace cudart_doctor {
namespace {

// Token t lives in stream t % 4, so that the weights' size by stream decides its logits' size.
constexpr double kLoudStream = 2.0;
constexpr double kQuietStream = 0.05;

template <typename Make>
std::vector<float> floats(std::int64_t count, Make make) {
  std::vector<float> out(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    out[static_cast<std::size_t>(i)] = static_cast<float>(make(i));
  return out;
}

template <typename Make>
std::vector<Bf16> bf16s(std::int64_t count, Make make) {
  std::vector<Bf16> out(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    out[static_cast<std::size_t>(i)] = bf16_from_float(static_cast<float>(make(i)));
  return out;
}

}  // namespace

std::uint64_t MhcRandom::next() {
  std::uint64_t mixed = state_ += 0x9E3779B97F4A7C15U;
  mixed = (mixed ^ (mixed >> 30U)) * 0xBF58476D1CE4E5B9U;
  mixed = (mixed ^ (mixed >> 27U)) * 0x94D049BB133111EBU;
  return mixed ^ (mixed >> 31U);
}

double MhcRandom::uniform() { return std::ldexp(static_cast<double>(next() >> 11U), -53); }

double MhcRandom::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
  const double angle = 2.0 * std::numbers::pi * uniform();
  spare_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

MhcInputs make_mhc_inputs(const MhcInputSpec& spec) {
  MhcRandom random(spec.seed);
  const std::int64_t hidden = spec.hidden;
  const std::int64_t width = kMhcStreams * hidden;
  const auto sd = [&](std::int64_t i) { return spec.logit_sd[static_cast<std::size_t>(i % 4)]; };
  const auto normal = [&](std::int64_t) { return random.normal(); };

  MhcInputs in;
  in.tokens = spec.tokens;
  in.hidden = hidden;
  in.x = bf16s(spec.tokens * hidden, normal);
  in.residual = bf16s(spec.tokens * width, [&](std::int64_t i) {
    const bool loud = i / hidden % kMhcStreams == i / width % kMhcStreams;
    return random.normal() * (loud ? kLoudStream : kQuietStream);
  });
  in.norm_weight = bf16s(hidden, [&](std::int64_t) { return 1.0 + 0.25 * random.normal(); });
  const double unit = 1.0 / (kLoudStream * std::sqrt(static_cast<double>(hidden)));
  in.fn = floats(kMhcMixes * width,
                 [&](std::int64_t i) { return random.normal() * unit * sd(i % width / hidden); });
  in.scale = {0.75F, 1.25F, 1.0F};
  in.base = floats(kMhcMixes, [&](std::int64_t) { return 0.1 * random.normal(); });
  in.mixes = floats(spec.tokens * kMhcMixes,
                    [&](std::int64_t i) { return random.normal() * sd(i / kMhcMixes); });
  in.post = floats(spec.tokens * kMhcStreams, [&](std::int64_t) { return 2 * random.uniform(); });
  in.comb = floats(spec.tokens * kMhcEntries, [&](std::int64_t) { return random.uniform(); });
  return in;
}

MhcConstants exposing_mhc_constants() {
  return {.iterations = 2,
          .pre_eps = 0.03125F,
          .sinkhorn_eps = 0.0078125F,
          .rms_eps = 0.25F,
          .norm_eps = 0.5F,
          .post_multiplier = 1.5F};
}

}  // namespace cudart_doctor
