// MhcOps: bound on first use, once, whatever the number of threads; failures are values.
#include "cudart_doctor/cuda/mhc_ops.hpp"

#include <atomic>
#include <barrier>
#include <cstring>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "support/catch.hpp"

using namespace cudart_doctor;

namespace {

class CountingLauncher : public KernelLauncher {
 public:
  CudaStatus bind() override {
    ++binds;
    return bind_answer;
  }
  bool has(std::size_t kernel) const override { return kernel != missing; }
  CudaStatus launch(std::size_t /*kernel*/, const LaunchShape& /*shape*/,
                    std::span<void*> /*arguments*/) override {
    ++launches;
    return {};
  }

  CudaStatus bind_answer;
  std::size_t missing = 99;
  std::atomic<int> binds = 0;
  std::atomic<int> launches = 0;
};

/// Eight threads that call mhc_post at once; the codes that they got.
std::set<int> codes_of_threads(MhcOps& ops) {
  constexpr int kThreads = 8;
  std::barrier start(kThreads);
  std::vector<int> codes(kThreads);
  std::vector<std::thread> threads;
  for (int& code : codes)
    threads.emplace_back([&] {
      start.arrive_and_wait();
      code = ops.mhc_post({.tokens = 1, .hidden = 8}).code;
    });
  for (std::thread& thread : threads) thread.join();
  return {codes.begin(), codes.end()};
}

}  // namespace

TEST_CASE("making MhcOps binds nothing") {
  CountingLauncher launcher;
  const MhcOps ops(launcher);
  CHECK(launcher.binds == 0);
}

TEST_CASE("threads that use an operator at once bind once, and each launches") {
  CountingLauncher launcher;
  MhcOps ops(launcher);
  CHECK(codes_of_threads(ops) == std::set{0});
  CHECK(launcher.binds == 1);
  CHECK(launcher.launches == 8);
}

TEST_CASE("a failure to bind is the same for every thread and stays") {
  CountingLauncher launcher;
  launcher.bind_answer = {222, "cuModuleLoadData"};
  MhcOps ops(launcher);
  CHECK(codes_of_threads(ops) == std::set{222});
  launcher.bind_answer = {};
  CHECK(ops.mhc_pre({.tokens = 1, .hidden = 8}).code == 222);
  CHECK(ops.mhc_pre({.tokens = 1, .hidden = 8}).call == "cuModuleLoadData");
  CHECK(launcher.binds == 1);
  CHECK(launcher.launches == 0);
}

TEST_CASE("no tokens: nothing is bound or launched") {
  CountingLauncher launcher;
  MhcOps ops(launcher);
  CHECK(ops.hc_split_sinkhorn({}).ok());
  CHECK(ops.mhc_pre({.hidden = 8}).ok());
  CHECK(ops.mhc_post({.hidden = 8}).ok());
  CHECK(ops.mhc_fused_post_pre({.before = {.hidden = 8}}).ok());
  CHECK(launcher.binds + launcher.launches == 0);
}

TEST_CASE("an operator that the platform lacks is refused by name, the others work") {
  CountingLauncher launcher;
  launcher.missing = static_cast<std::size_t>(MhcKernel::fused_post_pre);
  MhcOps ops(launcher);
  const CudaStatus refused = ops.mhc_fused_post_pre({.before = {.tokens = 1, .hidden = 8}});
  CHECK(refused.code == 801);
  CHECK(refused.call == "mhc_fused_post_pre");
  CHECK_FALSE(ops.available(MhcKernel::fused_post_pre));
  CHECK(ops.mhc_post({.tokens = 1, .hidden = 8}).ok());
}

TEST_CASE("sizes that make no sense are refused before anything is bound") {
  CountingLauncher launcher;
  MhcOps ops(launcher);
  CHECK(ops.hc_split_sinkhorn({.tokens = -1}).code == 1);
  CHECK(ops.hc_split_sinkhorn({.tokens = 1, .constants = {.iterations = 0}}).code == 1);
  CHECK(ops.mhc_pre({.tokens = 1, .hidden = 0}).code == 1);
  CHECK(ops.mhc_post({.tokens = 1, .hidden = std::int64_t{1} << 30}).code == 1);
  CHECK(launcher.binds == 0);
}

TEST_CASE("a grid beyond CUDA's limit is refused, not launched in part") {
  CountingLauncher launcher;
  MhcOps ops(launcher);
  CHECK(ops.mhc_post({.tokens = std::int64_t{1} << 31, .hidden = 7168}).code == 1);
  CHECK(ops.mhc_pre({.tokens = std::int64_t{1} << 32, .hidden = 8}).code == 1);
  CHECK(launcher.launches == 0);
}

TEST_CASE("the PTX is for old drivers and old cards, and holds every kernel") {
  const std::string ptx(mhc_ptx());
  CHECK_THAT(ptx, ContainsSubstring("\n.version 6.5\n.target sm_70\n"));
  for (const char* name : mhc_kernel_names())
    CHECK_THAT(ptx, ContainsSubstring(".visible .entry " + std::string(name) + "("));
  CHECK(mhc_ptx().data()[mhc_ptx().size()] == '\0');
}

TEST_CASE("the fat binaries begin with their magic number and end where it says") {
  for (const auto image : {mhc_fat_binary(), mhc_ptx_fat_binary()}) {
    struct Header {
      std::uint32_t magic;
      std::uint16_t version, header_bytes;
      std::uint64_t bytes;
    } header = {};
    REQUIRE(image.size() > sizeof header);
    std::memcpy(&header, image.data(), sizeof header);
    CHECK(header.magic == 0xBA55ED50);
    CHECK(header.header_bytes + header.bytes == image.size());
  }
}
