// Worked vectors: the fp64 reference against numbers computed by other programs from the
// definitions.
#include <cmath>
#include <span>
#include <vector>

#include "cudart_doctor/cuda/mhc_reference.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;

namespace {

constexpr double kPrinted = 0.6e-9;  // Nine decimals are given.

double largest_difference(std::span<const double> got, const std::vector<double>& want) {
  REQUIRE(got.size() == want.size());
  double largest = 0;
  for (std::size_t i = 0; i < want.size(); ++i)
    largest = std::fmax(largest, std::abs(got[i] - want[i]));
  return largest;
}

std::vector<Bf16> bf16s(const std::vector<float>& values) {
  std::vector<Bf16> out;
  for (const float value : values) out.push_back(bf16_from_float(value));
  return out;
}

std::vector<float> rounded(std::span<const Bf16Expected> values) {
  std::vector<float> out;
  for (const Bf16Expected& value : values) out.push_back(bf16_to_float(value.rounded()));
  return out;
}

// V1 and V2: mixes ((7o mod 24) - 11.5) / 4, base ((5o mod 24) - 11.5) / 20. The base is no float,
// so it is part of the mixes here; the scales are powers of two.
SplitExpected stepped(float comb_scale, int iterations) {
  const std::vector<float> scale = {0.5F, 0.25F, comb_scale};
  const std::vector<float> base(24, 0.0F);
  std::vector<double> mixes;
  for (std::size_t o = 0; o < 24; ++o) {
    const float s = scale[o < 4 ? 0 : o < 8 ? 1 : 2];
    mixes.push_back((static_cast<double>(7 * o % 24) - 11.5) / 4 +
                    (static_cast<double>(5 * o % 24) - 11.5) / 20 / static_cast<double>(s));
  }
  return split_reference(mixes, scale, base, {.iterations = iterations});
}

const std::vector<double> kPre = {0.117897737, 0.291627009, 0.559098472, 0.796166713};
const std::vector<double> kPost = {0.978128489, 0.728831161, 1.065530954, 0.671964745};

struct SinkhornVector {
  float comb_scale;
  int iterations;
  std::vector<double> comb;
};
const std::vector<SinkhornVector> kSinkhornVectors = {
    {0.25F,
     1,
     {.246258746, .316006249, .306046496, .115218800, .263539317, .338181222, .242634974,
      .123303947, .206092151, .264463207, .189744637, .320142726, .284108627, .081348574,
      .261572684, .441333501}},
    {0.25F,
     20,
     {.251557822, .316635129, .312099412, .119706637, .273697258, .344502028, .251557812,
      .130241903, .210184885, .264559008, .193183004, .332072102, .264559035, .074302835,
      .243158772, .417978358}},
    {4.0F,
     1,
     {.000002948, .001176161, .999928019, .000011033, .000784374, .499424459, .000001056,
      .000246512, .000784333, .499398356, .000001056, .000794099, .998427242, .000000524,
      .000068867, .998937879}},
    {4.0F,
     2,
     {.000005854, .000588613, .999960260, .000021944, .003115984, .499978631, .000002112,
      .000980831, .003112579, .499432124, .000002109, .003156304, .993763595, .000000131,
      .000034518, .995838929}},
    {4.0F,
     20,
     {.000043594, .000048841, .999946050, .000207011, .313791387, .560983495, .000028552,
      .125113387, .245540144, .438966663, .000022343, .315387683, .440623875, .000000001,
      .000002055, .559290919}},
};

// V4: H = 2, one token.
struct WholePre {
  std::vector<Bf16> residual;
  std::vector<float> fn;
  std::vector<float> scale = {0.5F, 0.25F, 0.25F};
  std::vector<float> base = std::vector<float>(24, 0.0F);
  std::vector<Bf16> norm_weight = bf16s({1.5F, -0.75F});
};

WholePre whole_pre() {
  WholePre in;
  for (int j = 0; j < 4; ++j) {
    const auto factor = static_cast<float>(j + 1);
    in.residual.push_back(bf16_from_float(0.5F * factor));
    in.residual.push_back(bf16_from_float(-0.25F * factor));
  }
  for (int o = 0; o < 24; ++o)
    for (int i = 0; i < 8; ++i)
      in.fn.push_back((static_cast<float>((3 * o + 5 * i) % 8) - 3.5F) / 8.0F);
  return in;
}

PreExpected whole_pre_reference(const WholePre& in) {
  return pre_reference({.hidden = 2,
                        .residual = in.residual,
                        .fn = in.fn,
                        .scale = in.scale,
                        .base = in.base,
                        .norm_weight = in.norm_weight});
}

}  // namespace

TEST_CASE("V0: without logits every stream counts the same") {
  const std::vector<double> mixes(24, 0.0);
  const std::vector<float> scale = {3.0F, -2.0F, 5.0F};
  const std::vector<float> base(24, 0.0F);
  const SplitExpected split = split_reference(mixes, scale, base, {});
  CHECK(largest_difference(split.pre, std::vector<double>(4, 0.500001)) < kPrinted);
  CHECK(largest_difference(split.post, std::vector<double>(4, 1.0)) < kPrinted);
  CHECK(largest_difference(split.comb, std::vector<double>(16, 0.24999975)) < kPrinted);
}

TEST_CASE("V1 and V2: pre and post do not depend on the Sinkhorn part") {
  for (const SinkhornVector& vector : kSinkhornVectors) {
    const SplitExpected split = stepped(vector.comb_scale, vector.iterations);
    CHECK(largest_difference(split.pre, kPre) < kPrinted);
    CHECK(largest_difference(split.post, kPost) < kPrinted);
  }
}

TEST_CASE("V1 and V2: comb after 1, 2 and 20 iterations") {
  for (const SinkhornVector& vector : kSinkhornVectors) {
    CAPTURE(vector.comb_scale, vector.iterations);
    const SplitExpected split = stepped(vector.comb_scale, vector.iterations);
    CHECK(largest_difference(split.comb, vector.comb) < kPrinted);
  }
}

TEST_CASE("V3: mhc_post mixes the streams by comb's columns") {
  const auto x = bf16s({-2});
  const auto residual = bf16s({1, 2, -3, 4});
  const std::vector<float> post = {0.5F, 1.0F, 1.5F, 2.0F};
  std::vector<float> comb;
  for (int i = 1; i <= 16; ++i) comb.push_back(static_cast<float>(i) / 32.0F);
  const auto out =
      post_reference({.hidden = 1, .x = x, .residual = residual, .post = post, .comb = comb});
  CHECK(rounded(out) == std::vector<float>{0.125F, -0.75F, -1.625F, -2.5F});
}

TEST_CASE("V4: mixes of a whole mhc_pre") {
  const PreExpected got = whole_pre_reference(whole_pre());
  const std::vector<double> period = {0.317542513,  0.028867501, -0.490747519, 1.068097542,
                                      -1.068097542, 0.490747519, -0.490747519, 0.144337506};
  for (std::size_t begin = 0; begin < 24; begin += 8)
    CHECK(largest_difference(std::span(got.mixes).subspan(begin, 8), period) < kPrinted);
}

TEST_CASE("V4: pre, post and comb of a whole mhc_pre") {
  const PreExpected got = whole_pre_reference(whole_pre());
  CHECK(largest_difference(got.split.pre, {0.539610641, 0.503609375, 0.438963500, 0.630427927}) <
        kPrinted);
  CHECK(largest_difference(got.split.post, {0.867275499, 1.061266610, 0.938733390, 1.018040231}) <
        kPrinted);
  CHECK(largest_difference(got.split.comb,
                           {.278739477, .221260006, .235582096, .264417421, .221260023, .278739494,
                            .264417404, .235582079, .278739477, .221260006, .235582096, .264417421,
                            .221260023, .278739494, .264417404, .235582079}) < kPrinted);
}

TEST_CASE("V4: layer_input without and with norm") {
  const PreExpected got = whole_pre_reference(whole_pre());
  CHECK(std::abs(got.layer_input[0].exact - 2.692715801) < kPrinted);
  CHECK(std::abs(got.layer_input[1].exact + 1.346357900) < kPrinted);
  CHECK(rounded(got.layer_input) == std::vector<float>{2.6875F, -1.34375F});
  CHECK(rounded(got.normed) == std::vector<float>{1.890625F, 0.47265625F});
}

TEST_CASE("V4: mhc_post after it") {
  const WholePre in = whole_pre();
  const PreExpected pre = whole_pre_reference(in);
  const std::vector<float> post(pre.split.post.begin(), pre.split.post.end());
  const std::vector<float> comb(pre.split.comb.begin(), pre.split.comb.end());
  const auto x = bf16s({1.0F, -0.5F});
  const auto out =
      post_reference({.hidden = 2, .x = x, .residual = in.residual, .post = post, .comb = comb});
  CHECK(rounded(out) == std::vector<float>{2.09375F, -1.046875F, 2.34375F, -1.171875F, 2.203125F,
                                           -1.1015625F, 2.25F, -1.125F});
}
