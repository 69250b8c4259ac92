// Results are the reference's, rounded: what is tested with the fakes is the probe's conduct, not
// its arithmetic.
#include "kernels.hpp"

#include <cstdint>
#include <string>

#include "cudart_doctor/cuda/mhc_inputs.hpp"
#include "cudart_doctor/cuda/mhc_reference.hpp"
#include "faults.hpp"

namespace fake {
namespace {

using namespace cudart_doctor;

template <typename T>
T argument(void** arguments, int index) {
  return *static_cast<T*>(arguments[index]);
}

template <typename T>
std::span<const T> view(const T* data, std::int64_t count) {
  return {data, data == nullptr ? 0 : static_cast<std::size_t>(count)};
}

void put(float* to, const std::vector<double>& from) {
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = static_cast<float>(from[i]);
}

void put(Bf16* to, const std::vector<Bf16Expected>& from) {
  for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[i].rounded();
}

struct PreArguments {
  std::int64_t tokens;
  const Bf16* residual;
  const float *fn, *scale, *base;
  const Bf16* norm_weight;
  float *post, *comb;
  Bf16* layer_input;
  int hidden;
  MhcConstants constants;
};

void pre(const PreArguments& a) {
  const auto expected =
      pre_reference({.hidden = a.hidden,
                     .residual = view(a.residual, a.tokens * kMhcStreams * a.hidden),
                     .fn = view(a.fn, kMhcMixes * kMhcStreams * a.hidden),
                     .scale = view(a.scale, 3),
                     .base = view(a.base, kMhcMixes),
                     .norm_weight = view(a.norm_weight, a.hidden),
                     .constants = a.constants});
  put(a.post, expected.split.post);
  put(a.comb, expected.split.comb);
  put(a.layer_input, a.norm_weight == nullptr ? expected.layer_input : expected.normed);
}

void post(std::int64_t tokens, int hidden, void** arguments) {
  const auto expected = post_reference(
      {.hidden = hidden,
       .x = view(argument<const Bf16*>(arguments, 0), tokens * hidden),
       .residual = view(argument<const Bf16*>(arguments, 1), tokens * kMhcStreams * hidden),
       .post = view(argument<const float*>(arguments, 2), tokens * kMhcStreams),
       .comb = view(argument<const float*>(arguments, 3), tokens * kMhcEntries)});
  put(argument<Bf16*>(arguments, 4), expected);
}

void split(void** arguments) {
  const auto tokens = argument<std::int64_t>(arguments, 6);
  const auto mixes = view(argument<const float*>(arguments, 0), tokens * kMhcMixes);
  const auto expected = split_reference(std::vector<double>(mixes.begin(), mixes.end()),
                                        view(argument<const float*>(arguments, 1), 3),
                                        view(argument<const float*>(arguments, 2), kMhcMixes),
                                        argument<MhcConstants>(arguments, 7));
  put(argument<float*>(arguments, 3), expected.pre);
  put(argument<float*>(arguments, 4), expected.post);
  put(argument<float*>(arguments, 5), expected.comb);
}

}  // namespace

bool knows_kernel(std::string_view name) {
  return name == "mhc_split_sinkhorn" || name == "mhc_pre" || name == "mhc_post" ||
         name == "mhc_fused_post_pre";
}

bool run_kernel(std::string_view name, unsigned blocks, void** arguments) {
  void* first_result = nullptr;
  if (name == "mhc_split_sinkhorn") {
    split(arguments);
    first_result = argument<void*>(arguments, 3);
  } else if (name == "mhc_pre") {
    pre({blocks, argument<const Bf16*>(arguments, 0), argument<const float*>(arguments, 1),
         argument<const float*>(arguments, 2), argument<const float*>(arguments, 3),
         argument<const Bf16*>(arguments, 4), argument<float*>(arguments, 5),
         argument<float*>(arguments, 6), argument<Bf16*>(arguments, 7), argument<int>(arguments, 8),
         argument<MhcConstants>(arguments, 9)});
    first_result = argument<void*>(arguments, 5);
  } else if (name == "mhc_post") {
    const int hidden = argument<int>(arguments, 5);
    // One block for each 1024 elements of a token.
    const auto parts = static_cast<unsigned>((hidden + 1023) / 1024);
    post(blocks / parts, hidden, arguments);
    first_result = argument<void*>(arguments, 4);
  } else if (name == "mhc_fused_post_pre") {
    const int hidden = argument<int>(arguments, 12);
    post(blocks, hidden, arguments);
    pre({blocks, argument<const Bf16*>(arguments, 4), argument<const float*>(arguments, 5),
         argument<const float*>(arguments, 6), argument<const float*>(arguments, 7),
         argument<const Bf16*>(arguments, 8), argument<float*>(arguments, 9),
         argument<float*>(arguments, 10), argument<Bf16*>(arguments, 11), hidden,
         argument<MhcConstants>(arguments, 13)});
    first_result = argument<void*>(arguments, 4);
  } else {
    return false;
  }
  if (has("wrong:" + std::string(name))) *static_cast<std::uint16_t*>(first_result) ^= 0x4100U;
  return true;
}

}  // namespace fake
