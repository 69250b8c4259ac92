// The mHC kernels on a GPU: the everyday check with each image, then many shapes against fp64; or
// the bandwidths. Needs libc and libdl alone, so that the file can be carried to a machine with a
// GPU. Exit code 0: passed; 1: failed; 2: usage; 77: no GPU here.
#include <cstdio>
#include <string>
#include <string_view>

#include "bench.hpp"
#include "cudart_doctor/cuda/mhc_ops.hpp"
#include "driver.hpp"
#include "sweep.hpp"

using namespace cudart_doctor;

namespace {

struct Image {
  const char* name;
  std::span<const std::byte> bytes;
};

bool everyday_check(const gpu_test::Api& api, const Image& image) {
  gpu_test::DriverLauncher launcher(api, image.bytes);
  gpu_test::DriverMemory memory(api);
  MhcOps ops(launcher);
  bool pass = true;
  for (const MhcOpResult& result : run_mhc_check(ops, memory)) {
    std::printf("%-14s %-4s %-20s %.3g of %.3g %s  %s %s %d\n", image.name,
                result.pass ? "ok" : "FAIL", result.op.c_str(), result.largest_error,
                result.tolerance, std::string(result.unit).c_str(), result.place.c_str(),
                result.note.c_str(), result.status.code);
    pass = pass && result.pass;
  }
  return pass;
}

bool test(const gpu_test::Api& api) {
  bool pass = true;
  for (const Image& image :
       {Image{"fat binary", mhc_fat_binary()}, Image{"PTX fat binary", mhc_ptx_fat_binary()},
        Image{"PTX", std::as_bytes(std::span(mhc_ptx()))}})
    pass = everyday_check(api, image) && pass;
  gpu_test::DriverLauncher launcher(api, mhc_fat_binary());
  gpu_test::DriverMemory memory(api);
  MhcOps ops(launcher);
  return gpu_test::sweep(ops, memory) && pass;
}

bool bench(const gpu_test::Api& api) {
  gpu_test::DriverLauncher launcher(api, mhc_fat_binary());
  gpu_test::DriverMemory memory(api);
  MhcOps ops(launcher);
  return gpu_test::bench(api, ops, memory);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view argument = argc == 2 ? argv[1] : "";
  if (argc > 2 || (argc == 2 && argument != "--bench")) {
    std::fprintf(stderr, "usage: mhc_gpu [--bench]\n");
    return 2;
  }
  gpu_test::Api api = {};
  if (const std::string why = gpu_test::open_driver(api); !why.empty()) {
    std::printf("skipped: %s\n", why.c_str());
    return 77;
  }
  const bool pass = argument == "--bench" ? bench(api) : test(api);
  std::printf("%s\n", pass ? "passed" : "FAILED");
  return pass ? 0 : 1;
}
