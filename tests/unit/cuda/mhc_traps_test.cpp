// Each mistake that implementations have made must show on the generated inputs at the real
// tolerances, by a clear margin; without a mistake a second implementation must pass.
#include <string>
#include <vector>

#include "cudart_doctor/cuda/mhc_compare.hpp"
#include "cudart_doctor/cuda/mhc_reference.hpp"
#include "mutated_mhc.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;

namespace {

// A mistake shows at five times the tolerance or more in at least one of the two sets of constants.
constexpr double kMargin = 5;

const MhcInputs& inputs() {
  static const MhcInputs kInputs = make_mhc_inputs({.seed = 20260712});
  return kInputs;
}

const std::vector<MhcConstants> kConstants = {MhcConstants{}, exposing_mhc_constants()};

PreExpected expected_pre(const std::vector<Bf16>& residual, const MhcConstants& constants) {
  const MhcInputs& in = inputs();
  return pre_reference({.hidden = in.hidden,
                        .residual = residual,
                        .fn = in.fn,
                        .scale = in.scale,
                        .base = in.base,
                        .norm_weight = in.norm_weight,
                        .constants = constants});
}

std::vector<Bf16Expected> expected_post() {
  const MhcInputs& in = inputs();
  return post_reference(
      {.hidden = in.hidden, .x = in.x, .residual = in.residual, .post = in.post, .comb = in.comb});
}

double ratio(const MhcComparison& comparison) {
  return comparison.largest_error / comparison.tolerance;
}

double split_error(Mistake mistake, const MhcConstants& constants) {
  const MhcInputs& in = inputs();
  const std::vector<double> mixes(in.mixes.begin(), in.mixes.end());
  const SplitExpected want = split_reference(mixes, in.scale, in.base, constants);
  const MutatedSplit got = mutated_split(mixes, in, constants, mistake);
  return ratio(worse(worse(compare_fp32({"pre", {4}}, got.pre_rounded, want.pre, kSplitTolerance),
                           compare_fp32({"post", {4}}, got.post, want.post, kSplitTolerance)),
                     compare_fp32({"comb", {4, 4}}, got.comb, want.comb, kSplitTolerance)));
}

double pre_error(const MutatedPre& got, const PreExpected& want) {
  const std::vector<std::int64_t> tail = {inputs().hidden};
  return ratio(
      worse(worse(compare_fp32({"post", {4}}, got.post, want.split.post, kMixTolerance),
                  compare_fp32({"comb", {4, 4}}, got.comb, want.split.comb, kMixTolerance)),
            worse(compare_bf16({"layer_input", tail}, got.layer_input, want.layer_input),
                  compare_bf16({"layer_input", tail}, got.normed, want.normed))));
}

double pre_error(Mistake mistake, const MhcConstants& constants) {
  const std::vector<Bf16>& residual = inputs().residual;
  return pre_error(mutated_pre(widen(residual), inputs(), constants, mistake),
                   expected_pre(residual, constants));
}

double post_error(Mistake mistake) {
  const MhcInputs& in = inputs();
  return ratio(compare_bf16({"residual", {4, in.hidden}}, round_all(mutated_post(in, mistake)),
                            expected_post()));
}

double fused_error(Mistake mistake, const MhcConstants& constants) {
  const std::vector<double> unrounded = mutated_post(inputs(), mistake);
  const std::vector<Bf16> rounded = round_all(unrounded);
  const auto& used = mistake == Mistake::fused_unrounded ? unrounded : widen(rounded);
  return pre_error(mutated_pre(used, inputs(), constants, mistake),
                   expected_pre(rounded, constants));
}

template <typename Error>
double over_constants(Mistake mistake, const Error& error) {
  double largest = 0;
  for (const MhcConstants& constants : kConstants)
    largest = std::max(largest, error(mistake, constants));
  return largest;
}

double split_errors(Mistake mistake) { return over_constants(mistake, split_error); }
double pre_errors(Mistake mistake) {
  return over_constants(mistake, [](Mistake m, const MhcConstants& c) { return pre_error(m, c); });
}
double fused_errors(Mistake mistake) { return over_constants(mistake, fused_error); }

struct Trap {
  const char* name;
  Mistake mistake;
};
constexpr Trap kSplitTraps[] = {
    {"no softmax", Mistake::no_softmax},
    {"no eps behind the softmax", Mistake::no_softmax_eps},
    {"one pair more", Mistake::one_pair_more},
    {"ends on a row", Mistake::ends_on_row},
    {"comb's columns transposed", Mistake::comb_transposed_out},
    {"pre and post swapped", Mistake::gates_swapped},
    {"post without factor", Mistake::post_without_factor},
    {"post with eps", Mistake::post_with_eps},
    {"pre without eps", Mistake::pre_without_eps},
    {"pre with factor", Mistake::pre_with_factor},
};
constexpr Trap kPreTraps[] = {
    {"mean over H", Mistake::rms_over_hidden},
    {"eps outside of the root", Mistake::rms_eps_outside},
    {"streams flattened the other way", Mistake::stream_minor},
    {"norm's mean over the width", Mistake::norm_over_width},
    {"norm without eps", Mistake::norm_without_eps},
    {"norm without weight", Mistake::norm_without_weight},
};

}  // namespace

TEST_CASE("a second implementation passes every comparison") {
  CHECK(split_errors(Mistake::none) <= 0.5);
  CHECK(pre_errors(Mistake::none) <= 0.5);
  CHECK(post_error(Mistake::none) <= 0.5);
  CHECK(fused_errors(Mistake::none) <= 0.5);
}

TEST_CASE("every mistake in the split shows in hc_split_sinkhorn") {
  for (const Trap& trap : kSplitTraps) {
    CAPTURE(trap.name);
    CHECK(split_errors(trap.mistake) > kMargin);
  }
}

TEST_CASE("Sinkhorn mistakes show with the production constants too") {
  for (const Mistake mistake : {Mistake::no_softmax, Mistake::no_softmax_eps,
                                Mistake::one_pair_more, Mistake::ends_on_row}) {
    CAPTURE(static_cast<int>(mistake));
    CHECK(split_error(mistake, MhcConstants{}) > kMargin);
  }
}

TEST_CASE("every mistake in the split shows in mhc_pre and the fused operator") {
  for (const Trap& trap : kSplitTraps) {
    CAPTURE(trap.name);
    CHECK(pre_errors(trap.mistake) > kMargin);
    CHECK(fused_errors(trap.mistake) > kMargin);
  }
}

TEST_CASE("every mistake around the split shows in mhc_pre and the fused operator") {
  for (const Trap& trap : kPreTraps) {
    CAPTURE(trap.name);
    CHECK(pre_errors(trap.mistake) > kMargin);
    CHECK(fused_errors(trap.mistake) > kMargin);
  }
}

TEST_CASE("comb used the wrong way round, and a lost sublayer, show in mhc_post") {
  CHECK(post_error(Mistake::post_not_transposed) > kMargin);
  CHECK(post_error(Mistake::post_drops_x) > kMargin);
}

TEST_CASE("streams that were not rounded first show in the fused operator") {
  CHECK(fused_errors(Mistake::fused_unrounded) > kMargin);
}

TEST_CASE("only production's small logits show no Sinkhorn mistake, so others are needed") {
  const MhcInputs small = make_mhc_inputs({.seed = 20260712, .logit_sd = {0.1, 0.1, 0.1, 0.1}});
  const std::vector<double> mixes(small.mixes.begin(), small.mixes.end());
  const SplitExpected want = split_reference(mixes, small.scale, small.base, {});
  const MutatedSplit got = mutated_split(mixes, small, {}, Mistake::ends_on_row);
  CHECK(compare_fp32({"comb", {4, 4}}, got.comb, want.comb, kSplitTolerance).pass);
}
