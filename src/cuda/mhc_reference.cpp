#include "cudart_doctor/cuda/mhc_reference.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "cudart_doctor/cuda/mhc_inputs.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kStreams = kMhcStreams;
constexpr std::size_t kMixes = kMhcMixes;
constexpr std::size_t kEntries = kMhcEntries;

// Of the sum of the terms' magnitudes. fp32 loses a few 2^-24 in mhc_post; in mhc_pre the weights
// too carry the error of their dot products.
constexpr double kPostSlack = 1e-6;
constexpr double kPreSlack = 1e-5;

using Comb = std::array<double, kEntries>;

double sigmoid(double value) { return 1.0 / (1.0 + std::exp(-value)); }

// c / (row sum + eps); with eps 0 the softmax's division.
void divide_rows(Comb& c, double eps) {
  for (std::size_t j = 0; j < kStreams; ++j) {
    double sum = eps;
    for (std::size_t k = 0; k < kStreams; ++k) sum += c[j * kStreams + k];
    for (std::size_t k = 0; k < kStreams; ++k) c[j * kStreams + k] /= sum;
  }
}

void divide_columns(Comb& c, double eps) {
  for (std::size_t k = 0; k < kStreams; ++k) {
    double sum = eps;
    for (std::size_t j = 0; j < kStreams; ++j) sum += c[j * kStreams + k];
    for (std::size_t j = 0; j < kStreams; ++j) c[j * kStreams + k] /= sum;
  }
}

void exponentials(Comb& c) {
  for (std::size_t j = 0; j < kStreams; ++j) {
    const std::span<double> row = std::span(c).subspan(j * kStreams, kStreams);
    const double largest = *std::max_element(row.begin(), row.end());
    for (double& value : row) value = std::exp(value - largest);
  }
}

Comb sinkhorn(Comb c, const MhcConstants& constants) {
  const double eps = constants.sinkhorn_eps;
  exponentials(c);
  divide_rows(c, 0);
  for (double& value : c) value += eps;
  divide_columns(c, eps);
  for (int i = 1; i < constants.iterations; ++i) {
    divide_rows(c, eps);
    divide_columns(c, eps);
  }
  return c;
}

std::vector<double> widened(std::span<const Bf16> from) {
  std::vector<double> out(from.size());
  std::transform(from.begin(), from.end(), out.begin(),
                 [](Bf16 value) { return static_cast<double>(bf16_to_float(value)); });
  return out;
}

// x [4H], one token.
void append_mixes(const PreView& view, std::span<const double> x, std::vector<double>& out) {
  double squares = 0;
  for (const double value : x) squares += value * value;
  const double mean = squares / static_cast<double>(x.size());
  const double factor = 1.0 / std::sqrt(mean + static_cast<double>(view.constants.rms_eps));
  for (std::size_t o = 0; o < kMixes; ++o) {
    // Four sums, so that the additions do not wait for each other.
    std::array<double, 4> sums = {};
    const std::span<const float> row = view.fn.subspan(o * x.size(), x.size());
    for (std::size_t i = 0; i < x.size(); i += 4)
      for (std::size_t n = 0; n < 4; ++n) sums[n] += x[i + n] * static_cast<double>(row[i + n]);
    out.push_back(factor * (sums[0] + sums[1] + sums[2] + sums[3]));
  }
}

struct WeightedSum {
  std::vector<double> value, slack;
};

WeightedSum weighted_sum(std::span<const double> x, std::span<const double> pre) {
  const std::size_t hidden = x.size() / kStreams;
  WeightedSum out{std::vector<double>(hidden), std::vector<double>(hidden)};
  for (std::size_t h = 0; h < hidden; ++h) {
    for (std::size_t j = 0; j < kStreams; ++j) {
      const double term = pre[j] * x[j * hidden + h];
      out.value[h] += term;
      out.slack[h] += kPreSlack * std::abs(term);
    }
  }
  return out;
}

// The bf16 value that fp32 might round `value` to: the one on the other side where a tie is near.
double other_rounding(double value, double slack, double rounded) {
  const double below = bf16_to_float(bf16_from_double(value - slack));
  const double above = bf16_to_float(bf16_from_double(value + slack));
  return below == rounded ? above : below;
}

void append_normed(const PreView& view, const WeightedSum& sum, std::vector<Bf16Expected>& out) {
  double squares = 0;
  for (const double value : sum.value) squares += value * value;
  const double mean = squares / static_cast<double>(view.hidden);
  const double factor = 1.0 / std::sqrt(mean + static_cast<double>(view.constants.norm_eps));
  for (std::size_t h = 0; h < sum.value.size(); ++h) {
    const double rounded = bf16_to_float(bf16_from_double(sum.value[h]));
    const double other = other_rounding(sum.value[h], sum.slack[h], rounded);
    const double scale = factor * static_cast<double>(bf16_to_float(view.norm_weight[h]));
    const double exact = rounded * scale;
    out.push_back({exact, std::abs((other - rounded) * scale) + kPreSlack * std::abs(exact)});
  }
}

}  // namespace

SplitExpected split_reference(std::span<const double> mixes, std::span<const float> scale,
                              std::span<const float> base, const MhcConstants& constants) {
  SplitExpected out;
  const std::size_t tokens = mixes.size() / kMixes;
  for (std::size_t t = 0; t < tokens; ++t) {
    const auto logit = [&](std::size_t o, std::size_t s) {
      return mixes[t * kMixes + o] * static_cast<double>(scale[s]) + static_cast<double>(base[o]);
    };
    for (std::size_t j = 0; j < kStreams; ++j) {
      out.pre.push_back(sigmoid(logit(j, 0)) + static_cast<double>(constants.pre_eps));
      out.post.push_back(static_cast<double>(constants.post_multiplier) *
                         sigmoid(logit(kStreams + j, 1)));
    }
    Comb logits;
    for (std::size_t e = 0; e < kEntries; ++e) logits[e] = logit(2 * kStreams + e, 2);
    const Comb comb = sinkhorn(logits, constants);
    out.comb.insert(out.comb.end(), comb.begin(), comb.end());
  }
  return out;
}

PreExpected pre_reference(const PreView& view) {
  PreExpected out;
  const std::size_t width = kStreams * static_cast<std::size_t>(view.hidden);
  const std::vector<double> residual = widened(view.residual);
  for (std::size_t begin = 0; begin < residual.size(); begin += width)
    append_mixes(view, std::span(residual).subspan(begin, width), out.mixes);
  out.split = split_reference(out.mixes, view.scale, view.base, view.constants);
  for (std::size_t t = 0; t * width < residual.size(); ++t) {
    const WeightedSum sum = weighted_sum(std::span(residual).subspan(t * width, width),
                                         std::span(out.split.pre).subspan(t * kStreams, kStreams));
    for (std::size_t h = 0; h < sum.value.size(); ++h)
      out.layer_input.push_back({sum.value[h], sum.slack[h]});
    if (!view.norm_weight.empty()) append_normed(view, sum, out.normed);
  }
  return out;
}

std::vector<Bf16Expected> post_reference(const PostView& view) {
  const auto hidden = static_cast<std::size_t>(view.hidden);
  const std::vector<double> x = widened(view.x);
  const std::vector<double> residual = widened(view.residual);
  std::vector<Bf16Expected> out(residual.size());
  for (std::size_t i = 0; i < residual.size(); ++i) {
    const std::size_t t = i / (kStreams * hidden);
    const std::size_t j = i / hidden % kStreams;
    const std::size_t h = i % hidden;
    double term = static_cast<double>(view.post[t * kStreams + j]) * x[t * hidden + h];
    double sum = term;
    double magnitude = std::abs(term);
    for (std::size_t k = 0; k < kStreams; ++k) {
      term = static_cast<double>(view.comb[t * kEntries + k * kStreams + j]) *
             residual[(t * kStreams + k) * hidden + h];
      sum += term;
      magnitude += std::abs(term);
    }
    out[i] = {sum, kPostSlack * magnitude};
  }
  return out;
}

}  // namespace cudart_doctor
