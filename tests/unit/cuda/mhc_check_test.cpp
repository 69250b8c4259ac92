// run_mhc_check with the kernels' source on host threads: right kernels pass, and each way to be
// wrong is named.
#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "cudart_doctor/cuda/mhc_compare.hpp"
#include "cudart_doctor/cuda/mhc_ops.hpp"
#include "kernels_on_threads.hpp"
#include "support/catch.hpp"

using namespace cudart_doctor;

namespace {

/// Launches and then lets a test spoil what the kernel wrote.
class SpoilingLauncher : public ThreadLauncher {
 public:
  bool has(std::size_t kernel) const override { return kernel != missing; }
  CudaStatus launch(std::size_t kernel, const LaunchShape& shape,
                    std::span<void*> arguments) override {
    if (kernel == skipped) return {};
    const CudaStatus status = ThreadLauncher::launch(kernel, shape, arguments);
    if (spoil) spoil(kernel, arguments);
    return status;
  }

  static constexpr std::size_t kNone = 99;
  std::size_t missing = kNone;
  std::size_t skipped = kNone;
  std::function<void(std::size_t, std::span<void*>)> spoil;
};

template <typename T>
T* parameter(std::span<void*> arguments, std::size_t index) {
  return reinterpret_cast<T*>(*static_cast<DevicePointer*>(arguments[index]));
}

constexpr std::size_t kSplit = static_cast<std::size_t>(MhcKernel::split_sinkhorn);
constexpr std::size_t kPost = static_cast<std::size_t>(MhcKernel::post);

std::vector<MhcOpResult> check(SpoilingLauncher& launcher) {
  HostMemory memory;
  MhcOps ops(launcher);
  auto results = run_mhc_check(ops, memory);
  REQUIRE(results.size() == 5);
  CHECK(memory.held() == 0);
  return results;
}

}  // namespace

TEST_CASE("right kernels pass, well within the tolerances") {
  SpoilingLauncher launcher;
  for (const MhcOpResult& result : check(launcher)) {
    CAPTURE(result.op, result.place, result.note);
    CHECK(result.pass);
    CHECK(result.largest_error > 0);
    CHECK(result.largest_error <= 0.75 * result.tolerance);
  }
}

TEST_CASE("a kernel that never ran is found by its poison") {
  SpoilingLauncher launcher;
  launcher.skipped = kPost;
  const MhcOpResult result = check(launcher)[3];
  CHECK_FALSE(result.pass);
  CHECK(result.largest_error == std::numeric_limits<double>::infinity());
  CHECK(result.note == "residual[t=0][0][0] was not written, or is no number");
}

TEST_CASE("one wrong entry is named with its place") {
  SpoilingLauncher launcher;
  launcher.spoil = [](std::size_t kernel, std::span<void*> arguments) {
    if (kernel == kSplit) parameter<float>(arguments, 5)[3 * 16 + 1 * 4 + 2] += 1e-4F;
  };
  const MhcOpResult result = check(launcher)[0];
  CHECK_FALSE(result.pass);
  CHECK(result.place == "comb[t=3][1][2]");
  CHECK(result.tolerance == kSplitTolerance);
}

TEST_CASE("a write behind the end of a result is found") {
  SpoilingLauncher launcher;
  launcher.spoil = [](std::size_t kernel, std::span<void*> arguments) {
    if (kernel == kSplit) parameter<float>(arguments, 5)[8 * 16] = 0;
  };
  const MhcOpResult result = check(launcher)[0];
  CHECK_FALSE(result.pass);
  CHECK(result.note == "wrote behind the end of a result");
}

TEST_CASE("a fused residual that differs in one last bit from the unfused one fails") {
  SpoilingLauncher launcher;
  int posts = 0;
  launcher.spoil = [&](std::size_t kernel, std::span<void*> arguments) {
    // The two after mhc_post's own check.
    if (kernel == kPost && ++posts > 2) parameter<Bf16>(arguments, 4)[7] ^= 1U;
  };
  const auto results = check(launcher);
  CHECK(results[3].pass);
  CHECK_FALSE(results[4].pass);
  CHECK(results[4].place == "fused residual, unfused[t=0][0][7]");
}

TEST_CASE("an operator that the platform lacks neither passes nor fails") {
  SpoilingLauncher launcher;
  launcher.missing = kPost;
  const auto results = check(launcher);
  CHECK_FALSE(results[3].available);
  CHECK(results[3].note == "not available on this platform");
  CHECK(results[4].pass);
}

TEST_CASE("a call that fails is told with its code, and nothing is compared") {
  struct FullMemory : HostMemory {
    CudaStatus allocate(std::size_t /*bytes*/, DevicePointer& /*out*/) override {
      return {2, "cudaMalloc"};
    }
  };
  SpoilingLauncher launcher;
  FullMemory memory;
  MhcOps ops(launcher);
  for (const MhcOpResult& result : run_mhc_check(ops, memory)) {
    CHECK_FALSE(result.pass);
    CHECK(result.status.code == 2);
    CHECK(result.note == "cudaMalloc failed");
  }
}
