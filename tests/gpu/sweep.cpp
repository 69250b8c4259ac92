#include "sweep.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cuda/check_session.hpp"
#include "cudart_doctor/cuda/mhc_compare.hpp"
#include "cudart_doctor/cuda/mhc_inputs.hpp"
#include "cudart_doctor/cuda/mhc_reference.hpp"

namespace gpu_test {
namespace {

using namespace cudart_doctor;

constexpr std::int64_t kTokens[] = {0, 1, 3, 8, 17, 32, 33, 512, 2048, 2049};
constexpr std::int64_t kMostTokens = 2049;
constexpr std::int64_t kHidden[] = {127, 512, 4096, 7168};
constexpr int kIterations[] = {1, 2, 20};

std::size_t to_size(std::int64_t value) { return static_cast<std::size_t>(value); }

template <typename T>
std::span<const T> rows(const std::vector<T>& all, std::int64_t token, std::int64_t per_token) {
  return std::span(all).subspan(to_size(token * per_token), to_size(per_token));
}

/// The tokens whose fp64 reference is computed: four of them, first and last among them.
std::set<std::int64_t> sample(std::int64_t tokens) {
  if (tokens == 0) return {};
  return {0, tokens / 3, tokens / 2, tokens - 1};
}

/// One hidden size: inputs for the most tokens on the device, outputs for each number of tokens.
class Sweep {
 public:
  Sweep(MhcOps& ops, DeviceMemory& memory, std::int64_t hidden)
      : ops_(ops),
        memory_(memory),
        inputs_(memory),
        in_(make_mhc_inputs({.seed = to_size(hidden), .tokens = kMostTokens, .hidden = hidden})) {
    post_.hidden = pre_.hidden = hidden;
    post_.x = inputs_.upload(in_.x);
    post_.residual = inputs_.upload(in_.residual);
    post_.post = inputs_.upload(in_.post);
    post_.comb = inputs_.upload(in_.comb);
    pre_.fn = inputs_.upload(in_.fn);
    pre_.scale = split_.scale = inputs_.upload(in_.scale);
    pre_.base = split_.base = inputs_.upload(in_.base);
    split_.mixes = inputs_.upload(in_.mixes);
    norm_weight_ = inputs_.upload(in_.norm_weight);
  }

  bool run() {
    for (const std::int64_t tokens : kTokens) {
      CheckSession outputs(memory_);
      outputs.keep(inputs_.status());
      session_ = &outputs;
      make_outputs(tokens);
      for (const int iterations : kIterations) {
        pre_.constants.iterations = split_.constants.iterations = iterations;
        run_split();
        for (const DevicePointer norm : {DevicePointer{0}, norm_weight_}) {
          pre_.norm_weight = norm;
          run_unfused_and_fused();
        }
      }
      const std::string call = outputs.ok() ? "" : std::string(outputs.status().call);
      note("every call",
           {.pass = outputs.ok(), .note = call + " failed at T=" + std::to_string(tokens)});
      note("ends of results", {.pass = !outputs.overrun(), .note = "overrun"});
    }
    return report();
  }

 private:
  void make_outputs(std::int64_t tokens) {
    post_.tokens = pre_.tokens = split_.tokens = tokens;
    post_.out = pre_.residual = session_->output<Bf16>(to_size(tokens * 4 * in_.hidden));
    pre_.post = split_.post = session_->output<float>(to_size(tokens * 4));
    pre_.comb = split_.comb = session_->output<float>(to_size(tokens * 16));
    pre_.layer_input = session_->output<Bf16>(to_size(tokens * in_.hidden));
    split_.pre = session_->output<float>(to_size(tokens * 4));
  }

  void run_split() {
    poison();
    session_->keep(ops_.hc_split_sinkhorn(split_));
    session_->synchronize();
    const auto pre = session_->download<float>(split_.pre);
    const auto post = session_->download<float>(split_.post);
    const auto comb = session_->download<float>(split_.comb);
    if (!session_->ok()) return;
    for (const std::int64_t t : sample(split_.tokens)) {
      const auto fp32 = rows(in_.mixes, t, 24);
      const std::vector<double> mixes(fp32.begin(), fp32.end());
      const auto want = split_reference(mixes, in_.scale, in_.base, split_.constants);
      note("split pre", compare_fp32({label(t), {4}}, rows(pre, t, 4), want.pre, kSplitTolerance));
      note("split post",
           compare_fp32({label(t), {4}}, rows(post, t, 4), want.post, kSplitTolerance));
      note("split comb",
           compare_fp32({label(t), {4, 4}}, rows(comb, t, 16), want.comb, kSplitTolerance));
    }
  }

  void run_unfused_and_fused() {
    poison();
    session_->keep(ops_.mhc_post(post_));
    session_->keep(ops_.mhc_pre(pre_));
    session_->synchronize();
    const auto residual = session_->download<Bf16>(post_.out);
    const auto layer_input = session_->download<Bf16>(pre_.layer_input);
    const auto post = session_->download<float>(pre_.post);
    const auto comb = session_->download<float>(pre_.comb);
    if (!session_->ok()) return;
    compare_post(residual);
    for (const std::int64_t t : sample(pre_.tokens))
      compare_pre(t, residual, post, comb, layer_input);

    poison();
    session_->keep(ops_.mhc_fused_post_pre({.before = post_,
                                            .fn = pre_.fn,
                                            .scale = pre_.scale,
                                            .base = pre_.base,
                                            .norm_weight = pre_.norm_weight,
                                            .post = pre_.post,
                                            .comb = pre_.comb,
                                            .layer_input = pre_.layer_input,
                                            .constants = pre_.constants}));
    session_->synchronize();
    equal_bits("fused residual = unfused", session_->download<Bf16>(post_.out), residual);
    equal_bits("fused layer_input = unfused", session_->download<Bf16>(pre_.layer_input),
               layer_input);
    equal_bits("fused post = unfused", session_->download<float>(pre_.post), post);
    equal_bits("fused comb = unfused", session_->download<float>(pre_.comb), comb);
  }

  void compare_post(const std::vector<Bf16>& got) {
    for (const std::int64_t t : sample(post_.tokens)) {
      const auto want = post_reference({.hidden = in_.hidden,
                                        .x = rows(in_.x, t, in_.hidden),
                                        .residual = rows(in_.residual, t, 4 * in_.hidden),
                                        .post = rows(in_.post, t, 4),
                                        .comb = rows(in_.comb, t, 16)});
      note("post", compare_bf16({label(t), {4, in_.hidden}}, rows(got, t, 4 * in_.hidden), want));
    }
  }

  void compare_pre(std::int64_t t, const std::vector<Bf16>& residual,
                   const std::vector<float>& post, const std::vector<float>& comb,
                   const std::vector<Bf16>& layer_input) {
    const bool norm = pre_.norm_weight != 0;
    PreView view = {.hidden = in_.hidden,
                    .residual = rows(residual, t, 4 * in_.hidden),
                    .fn = in_.fn,
                    .scale = in_.scale,
                    .base = in_.base,
                    .norm_weight = {},
                    .constants = pre_.constants};
    if (norm) view.norm_weight = in_.norm_weight;
    const PreExpected want = pre_reference(view);
    note("pre post",
         compare_fp32({label(t), {4}}, rows(post, t, 4), want.split.post, kMixTolerance));
    note("pre comb",
         compare_fp32({label(t), {4, 4}}, rows(comb, t, 16), want.split.comb, kMixTolerance));
    note(norm ? "pre layer_input, norm" : "pre layer_input",
         compare_bf16({label(t), {in_.hidden}}, rows(layer_input, t, in_.hidden),
                      norm ? want.normed : want.layer_input));
  }

  void poison() {
    for (const DevicePointer out : {post_.out, pre_.post, pre_.comb, pre_.layer_input, split_.pre})
      session_->poison(out);
  }

  template <typename T>
  void equal_bits(const char* what, const std::vector<T>& got, const std::vector<T>& want) {
    const bool equal =
        got.size() == want.size() &&
        (want.empty() || std::memcmp(got.data(), want.data(), want.size() * sizeof(T)) == 0);
    note(what, {.pass = equal, .note = "differs at T=" + std::to_string(pre_.tokens)});
  }

  std::string_view label(std::int64_t token) {
    label_ = "T=" + std::to_string(pre_.tokens) +
             " iters=" + std::to_string(pre_.constants.iterations) + " token " +
             std::to_string(token) + ":";
    return label_;
  }

  void note(const std::string& what, const MhcComparison& comparison) {
    const auto [entry, added] = worst_.try_emplace(what, comparison);
    if (!added) entry->second = worse(entry->second, comparison);
  }

  bool report() {
    bool pass = true;
    for (const auto& [what, worst] : worst_) {
      std::printf("H=%-5lld %-4s %-28s %.3g of %.3g %s  %s %s\n",
                  static_cast<long long>(in_.hidden), worst.pass ? "ok" : "FAIL", what.c_str(),
                  worst.largest_error, worst.tolerance, std::string(worst.unit).c_str(),
                  worst.place.c_str(), worst.pass ? "" : worst.note.c_str());
      pass = pass && worst.pass;
    }
    return pass;
  }

  MhcOps& ops_;
  DeviceMemory& memory_;
  CheckSession inputs_;
  CheckSession* session_ = nullptr;  ///< The outputs of the tokens at hand.
  MhcInputs in_;
  MhcPostArgs post_;
  MhcPreArgs pre_;
  SplitSinkhornArgs split_;
  DevicePointer norm_weight_ = 0;
  std::string label_;
  std::map<std::string, MhcComparison> worst_;
};

}  // namespace

bool sweep(MhcOps& ops, DeviceMemory& memory) {
  bool pass = true;
  for (const std::int64_t hidden : kHidden) pass = Sweep(ops, memory, hidden).run() && pass;
  return pass;
}

}  // namespace gpu_test
