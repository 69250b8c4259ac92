#include <array>
#include <functional>
#include <utility>

#include "cuda/check_session.hpp"
#include "cudart_doctor/cuda/mhc_compare.hpp"
#include "cudart_doctor/cuda/mhc_inputs.hpp"
#include "cudart_doctor/cuda/mhc_ops.hpp"
#include "cudart_doctor/cuda/mhc_reference.hpp"

namespace cudart_doctor {
namespace {

// An odd number of tokens would do as well; eight are two of each size of logits.
constexpr MhcInputSpec kSpec = {.seed = 20260712, .tokens = 8, .hidden = 512};

enum class Norm : std::uint8_t { off, on };

/// One way to run everything: inputs and constants, and what has to come out of mhc_pre.
struct Case {
  const MhcInputs* in;
  MhcConstants constants;
  PreExpected pre;
};

PreView pre_view(const MhcInputs& in, const MhcConstants& constants,
                 std::span<const Bf16> residual) {
  return {.hidden = in.hidden,
          .residual = residual,
          .fn = in.fn,
          .scale = in.scale,
          .base = in.base,
          .norm_weight = in.norm_weight,
          .constants = constants};
}

MhcTensor gates(std::string_view name) { return {name, {kMhcStreams}}; }
MhcTensor comb_tensor() { return {"comb", {kMhcStreams, kMhcStreams}}; }

std::size_t elements(const MhcInputs& in, std::int64_t per_token) {
  return static_cast<std::size_t>(in.tokens * per_token);
}

/// What mhc_pre writes.
struct PreOutputs {
  PreOutputs(CheckSession& session, const MhcInputs& in)
      : post(session.output<float>(elements(in, kMhcStreams))),
        comb(session.output<float>(elements(in, kMhcEntries))),
        layer_input(session.output<Bf16>(elements(in, in.hidden))) {}
  DevicePointer post, comb, layer_input;
};

MhcComparison compare_pre(CheckSession& session, const PreOutputs& out, const PreExpected& want,
                          Norm norm) {
  const auto post = session.download<float>(out.post);
  const auto comb = session.download<float>(out.comb);
  const auto layer_input = session.download<Bf16>(out.layer_input);
  const auto hidden = static_cast<std::int64_t>(want.layer_input.size() * kMhcMixes /
                                                (want.mixes.empty() ? 1 : want.mixes.size()));
  return worse(worse(compare_fp32(gates("post"), post, want.split.post, kMixTolerance),
                     compare_fp32(comb_tensor(), comb, want.split.comb, kMixTolerance)),
               compare_bf16({"layer_input", {hidden}}, layer_input,
                            norm == Norm::on ? want.normed : want.layer_input));
}

MhcComparison check_split(MhcOps& ops, CheckSession& session, const Case& c) {
  const MhcInputs& in = *c.in;
  const SplitSinkhornArgs args = {
      .tokens = in.tokens,
      .mixes = session.upload(in.mixes),
      .scale = session.upload(in.scale),
      .base = session.upload(in.base),
      .pre = session.output<float>(elements(in, kMhcStreams)),
      .post = session.output<float>(elements(in, kMhcStreams)),
      .comb = session.output<float>(elements(in, kMhcEntries)),
      .constants = c.constants,
  };
  session.keep(ops.hc_split_sinkhorn({}));
  if (session.ok()) session.keep(ops.hc_split_sinkhorn(args));
  session.synchronize();
  const std::vector<double> mixes(in.mixes.begin(), in.mixes.end());
  const SplitExpected want = split_reference(mixes, in.scale, in.base, c.constants);
  const auto pre = session.download<float>(args.pre);
  const auto post = session.download<float>(args.post);
  const auto comb = session.download<float>(args.comb);
  return worse(worse(compare_fp32(gates("pre"), pre, want.pre, kSplitTolerance),
                     compare_fp32(gates("post"), post, want.post, kSplitTolerance)),
               compare_fp32(comb_tensor(), comb, want.comb, kSplitTolerance));
}

MhcComparison check_pre(MhcOps& ops, CheckSession& session, const Case& c, Norm norm) {
  const MhcInputs& in = *c.in;
  const PreOutputs out(session, in);
  MhcPreArgs args = {
      .tokens = in.tokens,
      .hidden = in.hidden,
      .residual = session.upload(in.residual),
      .fn = session.upload(in.fn),
      .scale = session.upload(in.scale),
      .base = session.upload(in.base),
      .post = out.post,
      .comb = out.comb,
      .layer_input = out.layer_input,
      .constants = c.constants,
  };
  if (norm == Norm::on) args.norm_weight = session.upload(in.norm_weight);
  session.keep(ops.mhc_pre({.hidden = in.hidden}));
  if (session.ok()) session.keep(ops.mhc_pre(args));
  session.synchronize();
  return compare_pre(session, out, c.pre, norm);
}

MhcPostArgs upload_post(CheckSession& session, const MhcInputs& in) {
  return {.tokens = in.tokens,
          .hidden = in.hidden,
          .x = session.upload(in.x),
          .residual = session.upload(in.residual),
          .post = session.upload(in.post),
          .comb = session.upload(in.comb),
          .out = session.output<Bf16>(elements(in, kMhcStreams * in.hidden))};
}

MhcComparison compare_residual(const MhcInputs& in, std::span<const Bf16> got) {
  const PostView view = {
      .hidden = in.hidden, .x = in.x, .residual = in.residual, .post = in.post, .comb = in.comb};
  return compare_bf16({"residual", {kMhcStreams, in.hidden}}, got, post_reference(view));
}

MhcComparison check_post(MhcOps& ops, CheckSession& session, const MhcInputs& in) {
  const MhcPostArgs args = upload_post(session, in);
  session.keep(ops.mhc_post({.hidden = in.hidden}));
  if (session.ok()) session.keep(ops.mhc_post(args));
  session.synchronize();
  return compare_residual(in, session.download<Bf16>(args.out));
}

MhcComparison check_fused(MhcOps& ops, CheckSession& session, const Case& c) {
  const MhcInputs& in = *c.in;
  const PreOutputs out(session, in);
  const MhcFusedArgs args = {
      .before = upload_post(session, in),
      .fn = session.upload(in.fn),
      .scale = session.upload(in.scale),
      .base = session.upload(in.base),
      .norm_weight = session.upload(in.norm_weight),
      .post = out.post,
      .comb = out.comb,
      .layer_input = out.layer_input,
      .constants = c.constants,
  };
  session.keep(ops.mhc_fused_post_pre({.before = {.hidden = in.hidden}}));
  if (session.ok()) session.keep(ops.mhc_fused_post_pre(args));
  session.synchronize();
  const auto fused = session.download<Bf16>(args.before.out);
  const MhcComparison residual = compare_residual(in, fused);
  if (!session.ok() || !residual.pass) return residual;
  // Of the streams as they came out: one that fp32 rounded the other way at a tie is not wrong.
  const PreExpected want = pre_reference(pre_view(in, c.constants, fused));
  MhcComparison result = worse(residual, compare_pre(session, out, want, Norm::on));
  if (!ops.available(MhcKernel::post)) return result;
  session.poison(args.before.out);
  if (session.ok()) session.keep(ops.mhc_post(args.before));
  session.synchronize();
  const MhcTensor tensor = {"fused residual, unfused", {kMhcStreams, in.hidden}};
  return worse(result, compare_bits(tensor, fused, session.download<Bf16>(args.before.out)));
}

using Check = std::function<MhcComparison(CheckSession&)>;

void add(MhcOpResult& result, const CheckSession& session, const MhcComparison& compared) {
  result.status = session.status();
  result.pass = false;
  if (!session.ok()) {
    result.note = std::string(session.status().call) + " failed";
    return;
  }
  result.pass = compared.pass && !session.overrun();
  result.largest_error = compared.largest_error;
  result.tolerance = compared.tolerance;
  result.unit = compared.unit;
  result.place = compared.place;
  result.note = session.overrun() ? "wrote behind the end of a result" : compared.note;
}

/// The checks in turn; the result is the first failure's, else that which came nearest to one.
MhcOpResult run(std::string op, DeviceMemory& memory, std::span<const Check> checks) {
  MhcOpResult result{.op = std::move(op)};
  MhcComparison worst;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    CheckSession session(memory);
    const MhcComparison compared = checks[i](session);
    worst = i == 0 ? compared : worse(worst, compared);
    add(result, session, worst);
    if (!result.pass) break;
  }
  return result;
}

MhcOpResult missing(std::string op) {
  return {.op = std::move(op), .available = false, .note = "not available on this platform"};
}

}  // namespace

std::vector<MhcOpResult> run_mhc_check(MhcOps& ops, DeviceMemory& memory) {
  const MhcInputs in = make_mhc_inputs(kSpec);
  std::array<Case, 2> cases;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const MhcConstants constants = i == 0 ? MhcConstants{} : exposing_mhc_constants();
    cases[i] = {&in, constants, pre_reference(pre_view(in, constants, in.residual))};
  }
  std::vector<MhcOpResult> results;
  const auto add_op = [&](MhcKernel kernel, std::string op, const auto& check) {
    if (!ops.available(kernel)) {
      results.push_back(missing(std::move(op)));
      return;
    }
    std::vector<Check> checks;
    for (const Case& c : cases)
      checks.emplace_back([&ops, &c, check](CheckSession& s) { return check(ops, s, c); });
    results.push_back(run(std::move(op), memory, checks));
  };
  add_op(MhcKernel::split_sinkhorn, "hc_split_sinkhorn", check_split);
  add_op(MhcKernel::pre, "mhc_pre",
         [](MhcOps& o, CheckSession& s, const Case& c) { return check_pre(o, s, c, Norm::off); });
  add_op(MhcKernel::pre, "mhc_pre with norm",
         [](MhcOps& o, CheckSession& s, const Case& c) { return check_pre(o, s, c, Norm::on); });
  add_op(MhcKernel::post, "mhc_post",
         [](MhcOps& o, CheckSession& s, const Case& c) { return check_post(o, s, *c.in); });
  add_op(MhcKernel::fused_post_pre, "mhc_fused_post_pre", check_fused);
  return results;
}

}  // namespace cudart_doctor
