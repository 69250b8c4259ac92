#include "mutated_mhc.hpp"

#include <algorithm>
#include <cmath>

namespace cudart_doctor {
namespace {

using Matrix = double[4][4];

void row_pass(Matrix& c, double eps) {
  for (auto& row : c) {
    const double sum = row[0] + row[1] + row[2] + row[3] + eps;
    for (double& value : row) value /= sum;
  }
}

void column_pass(Matrix& c, double eps) {
  for (int k = 0; k < 4; ++k) {
    const double sum = c[0][k] + c[1][k] + c[2][k] + c[3][k] + eps;
    for (auto& row : c) row[k] /= sum;
  }
}

void sinkhorn(Matrix& c, const MhcConstants& constants, Mistake mistake) {
  const double eps = constants.sinkhorn_eps;
  for (auto& row : c) {
    const double largest = mistake == Mistake::no_softmax ? 0 : *std::max_element(row, row + 4);
    for (double& value : row) value = std::exp(value - largest);
  }
  row_pass(c, mistake == Mistake::no_softmax ? eps : 0);
  if (mistake != Mistake::no_softmax && mistake != Mistake::no_softmax_eps)
    for (auto& row : c)
      for (double& value : row) value += eps;
  column_pass(c, eps);
  const int pairs = constants.iterations - 1 + (mistake == Mistake::one_pair_more ? 1 : 0);
  for (int i = 0; i < pairs; ++i) {
    row_pass(c, eps);
    column_pass(c, eps);
  }
  if (mistake == Mistake::ends_on_row) row_pass(c, eps);
}

double sigmoid(double value) { return 1 / (1 + std::exp(-value)); }

std::vector<double> mixes_of(const std::vector<double>& residual, const MhcInputs& in,
                             const MhcConstants& constants, Mistake mistake) {
  const auto hidden = static_cast<std::size_t>(in.hidden);
  const std::size_t width = 4 * hidden;
  const auto flat = [&](std::size_t j, std::size_t h) {
    return mistake == Mistake::stream_minor ? h * 4 + j : j * hidden + h;
  };
  std::vector<double> out;
  for (std::size_t begin = 0; begin < residual.size(); begin += width) {
    double squares = 0;
    for (std::size_t i = 0; i < width; ++i) squares += residual[begin + i] * residual[begin + i];
    const double mean =
        squares / static_cast<double>(mistake == Mistake::rms_over_hidden ? hidden : width);
    const double eps = constants.rms_eps;
    const double factor = mistake == Mistake::rms_eps_outside ? 1 / (std::sqrt(mean) + eps)
                                                              : 1 / std::sqrt(mean + eps);
    for (std::size_t o = 0; o < 24; ++o) {
      double sum = 0;
      for (std::size_t j = 0; j < 4; ++j)
        for (std::size_t h = 0; h < hidden; ++h)
          sum +=
              residual[begin + j * hidden + h] * static_cast<double>(in.fn[o * width + flat(j, h)]);
      out.push_back(sum * factor);
    }
  }
  return out;
}

void append_layer_input(MutatedPre& out, const std::vector<double>& v, const MhcInputs& in,
                        const MhcConstants& constants, Mistake mistake) {
  double squares = 0;
  for (const double value : v) squares += value * value;
  const auto size = static_cast<double>(v.size());
  const double mean = squares / (mistake == Mistake::norm_over_width ? 4 * size : size);
  const double eps = mistake == Mistake::norm_without_eps ? 0 : constants.norm_eps;
  const double factor = 1 / std::sqrt(mean + eps);
  for (std::size_t h = 0; h < v.size(); ++h) {
    const Bf16 rounded = bf16_from_double(v[h]);
    const double weight =
        mistake == Mistake::norm_without_weight ? 1 : bf16_to_float(in.norm_weight[h]);
    out.layer_input.push_back(rounded);
    out.normed.push_back(
        bf16_from_double(static_cast<double>(bf16_to_float(rounded)) * factor * weight));
  }
}

}  // namespace

MutatedSplit mutated_split(const std::vector<double>& mixes, const MhcInputs& in,
                           const MhcConstants& constants, Mistake mistake) {
  MutatedSplit out;
  const bool swapped = mistake == Mistake::gates_swapped;
  for (std::size_t begin = 0; begin < mixes.size(); begin += 24) {
    const auto logit = [&](std::size_t o, std::size_t s) {
      return mixes[begin + o] * static_cast<double>(in.scale[s]) + static_cast<double>(in.base[o]);
    };
    const double factor = constants.post_multiplier;
    const double eps = constants.pre_eps;
    for (std::size_t j = 0; j < 4; ++j) {
      const double pre = sigmoid(logit(swapped ? 4 + j : j, 0));
      const double post = sigmoid(logit(swapped ? j : 4 + j, 1));
      out.pre.push_back((mistake == Mistake::pre_with_factor ? factor * pre : pre) +
                        (mistake == Mistake::pre_without_eps ? 0 : eps));
      out.post.push_back(
          static_cast<float>((mistake == Mistake::post_without_factor ? post : factor * post) +
                             (mistake == Mistake::post_with_eps ? eps : 0)));
    }
    Matrix c;
    for (std::size_t j = 0; j < 4; ++j)
      for (std::size_t k = 0; k < 4; ++k)
        c[j][k] = logit(8 + (mistake == Mistake::comb_transposed_out ? k * 4 + j : j * 4 + k), 2);
    sinkhorn(c, constants, mistake);
    for (const auto& row : c)
      for (const double value : row) out.comb.push_back(static_cast<float>(value));
  }
  for (const double value : out.pre) out.pre_rounded.push_back(static_cast<float>(value));
  return out;
}

MutatedPre mutated_pre(const std::vector<double>& residual, const MhcInputs& in,
                       const MhcConstants& constants, Mistake mistake) {
  const auto mixes = mixes_of(residual, in, constants, mistake);
  const MutatedSplit split = mutated_split(mixes, in, constants, mistake);
  MutatedPre out{.post = split.post, .comb = split.comb, .layer_input = {}, .normed = {}};
  const auto hidden = static_cast<std::size_t>(in.hidden);
  for (std::size_t t = 0; t * 4 * hidden < residual.size(); ++t) {
    std::vector<double> v(hidden);
    for (std::size_t h = 0; h < hidden; ++h)
      for (std::size_t j = 0; j < 4; ++j)
        v[h] += split.pre[t * 4 + j] * residual[(t * 4 + j) * hidden + h];
    append_layer_input(out, v, in, constants, mistake);
  }
  return out;
}

std::vector<double> mutated_post(const MhcInputs& in, Mistake mistake) {
  const auto hidden = static_cast<std::size_t>(in.hidden);
  const bool straight = mistake == Mistake::post_not_transposed;
  std::vector<double> out;
  for (std::size_t t = 0; t < static_cast<std::size_t>(in.tokens); ++t)
    for (std::size_t j = 0; j < 4; ++j)
      for (std::size_t h = 0; h < hidden; ++h) {
        double sum = mistake == Mistake::post_drops_x
                         ? 0
                         : static_cast<double>(in.post[t * 4 + j]) *
                               static_cast<double>(bf16_to_float(in.x[t * hidden + h]));
        for (std::size_t k = 0; k < 4; ++k)
          sum += static_cast<double>(in.comb[t * 16 + (straight ? j * 4 + k : k * 4 + j)]) *
                 static_cast<double>(bf16_to_float(in.residual[(t * 4 + k) * hidden + h]));
        out.push_back(sum);
      }
  return out;
}

std::vector<double> widen(const std::vector<Bf16>& values) {
  std::vector<double> out;
  for (const Bf16 value : values) out.push_back(static_cast<double>(bf16_to_float(value)));
  return out;
}

std::vector<Bf16> round_all(const std::vector<double>& values) {
  std::vector<Bf16> out;
  for (const double value : values) out.push_back(bf16_from_double(value));
  return out;
}

}  // namespace cudart_doctor
