// run_pair [--alone] [--symbols] [--devices 0,1] RUNTIME...: both children on real or fake files,
// every frame as a line; for a look at a machine with a GPU.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>

#include "child_pair.hpp"
#include "cudart_doctor/base/text.hpp"

namespace {

void print(const char* side, const probe_test::ChildRecord& record) {
  for (const auto& frame : record.frames) {
    if (frame.kind == cudart_doctor::FrameKind::begin) continue;
    std::printf("%s %u %s\n", side, frame.runtime, probe_test::describe(frame).c_str());
  }
  std::printf("%s status %d%s%s%s\n", side, record.status, record.late ? " late" : "",
              record.malformed.c_str(), record.output.empty() ? "" : " printed:");
  std::fputs(record.output.c_str(), stdout);
}

}  // namespace

int main(int argc, char** argv) {
  probe_test::PairOrder order;
  // Beside this program: a build folder may have been moved.
  order.program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "probe_child";
  order.bound_names = {"cudaSetDevice",       "cudaDeviceSynchronize",
                       "cudaDeviceReset",     "cudaGetErrorString",
                       "cudaMalloc",          "cudaFree",
                       "cudaMemset",          "cudaMemcpy",
                       "cudaIpcGetMemHandle", "cudaIpcOpenMemHandle"};
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--alone") {
      order.importer = false;
    } else if (argument == "--symbols") {
      order.symbols_only = true;
    } else if (argument == "--devices" && i + 1 < argc) {
      for (const auto part : cudart_doctor::split(argv[++i], ',')) {
        order.devices.push_back(std::stoi(std::string(part)));
      }
    } else {
      order.runtimes.emplace_back(argument);
    }
  }
  const auto begin = std::chrono::steady_clock::now();
  const auto record = probe_test::run_pair(order);
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - begin);
  print("exporter", record.exporter);
  if (order.importer) print("importer", record.importer);
  std::printf("%lld ms\n", static_cast<long long>(took.count()));
  return record.exporter.status == 0 && record.importer.status == 0 ? 0 : 1;
}
