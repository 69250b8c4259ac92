// The inputs in the layout of the shared buffer, and the verdict on what came out.
#include "post_sample.hpp"

#include <cstring>

#include "cudart_doctor/cuda/mhc_compare.hpp"
#include "cudart_doctor/cuda/mhc_inputs.hpp"

namespace cudart_doctor {
namespace {

using Layout = SampleLayout;

std::string rounded(double value) {
  // Two decimals are enough to tell 0.5 ulp from 1.
  const std::string text = std::to_string(value);
  return text.substr(0, text.find('.') + 3);
}

}  // namespace

PostSample::PostSample() : inputs_(Layout::kOut - Layout::kResidual) {
  const MhcInputs in =
      make_mhc_inputs({.seed = 31, .tokens = Layout::kTokens, .hidden = Layout::kHidden});
  const auto put = [this](std::size_t at, const auto& values) {
    std::memcpy(inputs_.data() + (at - Layout::kResidual), values.data(),
                values.size() * sizeof values[0]);
  };
  put(Layout::kResidual, in.residual);
  put(Layout::kX, in.x);
  put(Layout::kPost, in.post);
  put(Layout::kComb, in.comb);
  expected_ = post_reference(
      {.hidden = in.hidden, .x = in.x, .residual = in.residual, .post = in.post, .comb = in.comb});
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
  std::vector<Bf16> got(out.size() / sizeof(Bf16));
  std::memcpy(got.data(), out.data(), got.size() * sizeof(Bf16));
  const MhcComparison result =
      compare_bf16({"out", {Layout::kStreams, Layout::kHidden}}, got, expected_);
  std::string text = "largest error " + rounded(result.largest_error) + " ulp at " + result.place;
  if (!result.pass) text = result.note + "; " + text;
  return {.right = result.pass, .text = std::move(text)};
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
