// One mhc_post of a fixed size, with its fp64 reference: what the control, the JIT check and the
// IPC round trips compute. Made once a process; both children make the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cudart_doctor/cuda/launcher.hpp"
#include "cudart_doctor/cuda/mhc_ops.hpp"
#include "cudart_doctor/cuda/mhc_reference.hpp"

namespace cudart_doctor {

/// How an output compares with the reference.
struct SampleVerdict {
  bool right = false;
  std::string text;  ///< "largest error 0.5 ulp at out[t=3][2][77]", or why it is wrong.
};

/// Where the tensors of a sample lie, from the start of its memory: a header, the inputs, `out`.
struct SampleLayout {
  static constexpr std::int64_t kTokens = 8;
  static constexpr std::int64_t kHidden = 512;
  static constexpr std::int64_t kStreams = 4;
  static constexpr std::size_t kMark = 0;     ///< The exporter's, 8 bytes.
  static constexpr std::size_t kToken = 128;  ///< The importer's, 8 bytes.
  static constexpr std::size_t kResidual = 256;
  static constexpr std::size_t kX = kResidual + 2 * kTokens * kStreams * kHidden;
  static constexpr std::size_t kPost = kX + 2 * kTokens * kHidden;
  static constexpr std::size_t kComb = kPost + 4 * kTokens * kStreams;
  static constexpr std::size_t kOut = kComb + 4 * kTokens * kStreams * kStreams;
  static constexpr std::size_t kOutBytes = 2 * kTokens * kStreams * kHidden;
  static constexpr std::size_t kBytes = kOut + kOutBytes;
  // Every tensor can be read in pieces of 16 bytes.
  static_assert(kX % 16 == 0 && kPost % 16 == 0 && kComb % 16 == 0 && kOut % 16 == 0);
};

class PostSample {
 public:
  /// Random inputs of a fixed seed, and what must come out of them.
  PostSample();

  /// The first SampleLayout::kOut bytes of the memory: `mark` and the inputs.
  [[nodiscard]] std::vector<std::byte> image(std::uint64_t mark) const;
  /// Arguments for a sample that lies at `base`.
  [[nodiscard]] static MhcPostArgs arguments(DevicePointer base);
  /// Compares kOutBytes of output: each value within 1 bf16 ulp of the reference.
  [[nodiscard]] SampleVerdict compare(std::span<const std::byte> out) const;

  /// Uploads, poisons `out`.
  [[nodiscard]] CudaStatus prepare(DeviceMemory& memory, DevicePointer base,
                                   std::uint64_t mark) const;
  /// Downloads `out` and compares.
  CudaStatus fetch(DeviceMemory& memory, DevicePointer base, SampleVerdict& verdict) const;

 private:
  std::vector<std::byte> inputs_;  ///< kResidual to kOut.
  std::vector<Bf16Expected> expected_;
};

/// What `out` holds before anything computed: a NaN in bf16.
inline constexpr std::uint8_t kPoison = 0xff;

}  // namespace cudart_doctor
