// The kernels' source on host threads against the fp64 reference: shapes that the everyday check
// does not have.
#include <vector>

#include "cuda/check_session.hpp"
#include "cudart_doctor/cuda/mhc_compare.hpp"
#include "cudart_doctor/cuda/mhc_inputs.hpp"
#include "kernels_on_threads.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;

namespace {

struct Shape {
  std::int64_t tokens;
  std::int64_t hidden;
};
// One element; odd; 4-wide but not 8-wide; more than one block of mhc_post a token.
constexpr Shape kShapes[] = {{1, 1}, {3, 127}, {2, 12}, {2, 1544}};

std::size_t count(std::int64_t value) { return static_cast<std::size_t>(value); }

MhcInputs inputs(const Shape& shape) {
  return make_mhc_inputs({.seed = 3, .tokens = shape.tokens, .hidden = shape.hidden});
}

PreExpected expected(const MhcInputs& in, std::span<const Bf16> residual) {
  return pre_reference({.hidden = in.hidden,
                        .residual = residual,
                        .fn = in.fn,
                        .scale = in.scale,
                        .base = in.base,
                        .norm_weight = in.norm_weight,
                        .constants = {.iterations = 2}});
}

struct Bench {
  ThreadLauncher launcher;
  HostMemory memory;
  MhcOps ops{launcher};
  CheckSession session{memory};

  // Elements that do not begin at a multiple of 16 bytes.
  DevicePointer upload_unaligned(std::vector<Bf16> values) {
    values.insert(values.begin(), Bf16{0});
    return session.upload(values) + sizeof(Bf16);
  }
};

MhcPreArgs pre_args(CheckSession& session, const MhcInputs& in) {
  return {.tokens = in.tokens,
          .hidden = in.hidden,
          .residual = session.upload(in.residual),
          .fn = session.upload(in.fn),
          .scale = session.upload(in.scale),
          .base = session.upload(in.base),
          .norm_weight = session.upload(in.norm_weight),
          .post = session.output<float>(count(in.tokens * 4)),
          .comb = session.output<float>(count(in.tokens * 16)),
          .layer_input = session.output<Bf16>(count(in.tokens * in.hidden)),
          .constants = {.iterations = 2}};
}

MhcPostArgs post_args(CheckSession& session, const MhcInputs& in) {
  return {.tokens = in.tokens,
          .hidden = in.hidden,
          .x = session.upload(in.x),
          .residual = session.upload(in.residual),
          .post = session.upload(in.post),
          .comb = session.upload(in.comb),
          .out = session.output<Bf16>(count(in.tokens * 4 * in.hidden))};
}

MhcComparison compare_pre(Bench& bench, const MhcPreArgs& args, const PreExpected& want) {
  const auto comb = bench.session.download<float>(args.comb);
  const auto post = bench.session.download<float>(args.post);
  const auto layer_input = bench.session.download<Bf16>(args.layer_input);
  return worse(worse(compare_fp32({"comb", {4, 4}}, comb, want.split.comb, kMixTolerance),
                     compare_fp32({"post", {4}}, post, want.split.post, kMixTolerance)),
               compare_bf16({"layer_input", {args.hidden}}, layer_input, want.normed));
}

MhcComparison compare_post(const MhcInputs& in, std::span<const Bf16> got) {
  return compare_bf16({"residual", {4, in.hidden}}, got,
                      post_reference({.hidden = in.hidden,
                                      .x = in.x,
                                      .residual = in.residual,
                                      .post = in.post,
                                      .comb = in.comb}));
}

}  // namespace

TEST_CASE("hc_split_sinkhorn is right when the last block is not full") {
  const MhcInputs in = inputs({9, 1});
  Bench bench;
  const SplitSinkhornArgs args = {.tokens = in.tokens,
                                  .mixes = bench.session.upload(in.mixes),
                                  .scale = bench.session.upload(in.scale),
                                  .base = bench.session.upload(in.base),
                                  .pre = bench.session.output<float>(36),
                                  .post = bench.session.output<float>(36),
                                  .comb = bench.session.output<float>(144)};
  REQUIRE(bench.ops.hc_split_sinkhorn(args).ok());
  const std::vector<double> mixes(in.mixes.begin(), in.mixes.end());
  const SplitExpected want = split_reference(mixes, in.scale, in.base, {});
  const auto result = compare_fp32({"comb", {4, 4}}, bench.session.download<float>(args.comb),
                                   want.comb, kSplitTolerance);
  CHECK(result.note == "");
  CHECK_FALSE(bench.session.overrun());
}

TEST_CASE("mhc_pre is right for any hidden size") {
  for (const Shape& shape : kShapes) {
    CAPTURE(shape.hidden);
    const MhcInputs in = inputs(shape);
    Bench bench;
    const MhcPreArgs args = pre_args(bench.session, in);
    REQUIRE(bench.ops.mhc_pre(args).ok());
    CHECK(compare_pre(bench, args, expected(in, in.residual)).note == "");
    CHECK_FALSE(bench.session.overrun());
  }
}

TEST_CASE("mhc_post is right for any hidden size") {
  for (const Shape& shape : kShapes) {
    CAPTURE(shape.hidden);
    const MhcInputs in = inputs(shape);
    Bench bench;
    const MhcPostArgs args = post_args(bench.session, in);
    REQUIRE(bench.ops.mhc_post(args).ok());
    CHECK(compare_post(in, bench.session.download<Bf16>(args.out)).note == "");
    CHECK_FALSE(bench.session.overrun());
  }
}

TEST_CASE("tensors need no alignment beyond their elements'") {
  const MhcInputs in = inputs({2, 16});
  Bench bench;
  MhcPostArgs post = post_args(bench.session, in);
  post.residual = bench.upload_unaligned(in.residual);
  REQUIRE(bench.ops.mhc_post(post).ok());
  CHECK(compare_post(in, bench.session.download<Bf16>(post.out)).note == "");
  MhcPreArgs pre = pre_args(bench.session, in);
  pre.residual = bench.upload_unaligned(in.residual);
  REQUIRE(bench.ops.mhc_pre(pre).ok());
  CHECK(compare_pre(bench, pre, expected(in, in.residual)).note == "");
}

TEST_CASE("the fused operator gives the bits of the two that it replaces") {
  for (const Shape& shape : kShapes) {
    CAPTURE(shape.hidden);
    const MhcInputs in = inputs(shape);
    Bench bench;
    CheckSession& session = bench.session;
    const MhcPostArgs post = post_args(session, in);
    MhcPreArgs pre = pre_args(session, in);
    pre.residual = post.out;
    REQUIRE(bench.ops.mhc_post(post).ok());
    REQUIRE(bench.ops.mhc_pre(pre).ok());
    const auto unfused = session.download<Bf16>(post.out);
    const auto unfused_input = session.download<Bf16>(pre.layer_input);
    const auto unfused_comb = session.download<float>(pre.comb);
    for (const DevicePointer out : {post.out, pre.post, pre.comb, pre.layer_input})
      session.poison(out);
    REQUIRE(bench.ops
                .mhc_fused_post_pre({.before = post,
                                     .fn = pre.fn,
                                     .scale = pre.scale,
                                     .base = pre.base,
                                     .norm_weight = pre.norm_weight,
                                     .post = pre.post,
                                     .comb = pre.comb,
                                     .layer_input = pre.layer_input,
                                     .constants = pre.constants})
                .ok());
    CHECK(session.download<Bf16>(post.out) == unfused);
    CHECK(session.download<Bf16>(pre.layer_input) == unfused_input);
    CHECK(session.download<float>(pre.comb) == unfused_comb);
  }
}
