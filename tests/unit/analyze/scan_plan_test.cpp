// Which objects are listed and searched.
#include "cudart_doctor/analyze/scan_plan.hpp"

#include "support/catch.hpp"
#include "support/synthetic_elf.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

TEST_CASE("an object without any sign of CUDA costs no search") {
  const auto plan = plan_scan(make_plain("libz.so.1").elf, "/usr/lib/libz.so.1", ScanDepth::usual);
  CHECK_FALSE(plan.walk_symbols);
  CHECK_FALSE(plan.search_contents);
  CHECK_FALSE(plan.static_suspect);
}

TEST_CASE("a deep look searches every object") {
  const auto plan = plan_scan(make_plain("libz.so.1").elf, "/usr/lib/libz.so.1", ScanDepth::deep);
  CHECK(plan.walk_symbols);
  CHECK(plan.search_contents);
  CHECK(plan.static_suspect);
}

TEST_CASE("each of name, soname, node and exports makes a runtime suspect") {
  ElfFacts elf = make_plain("libmine.so").elf;
  std::string path = "/x/libmine.so";
  SECTION("name") {
    path = GENERATE("/x/libCUDART_x.so", "/x/libcuda.so.1", "/x/libstub_nvrtc.so",
                    "/x/libnvidia-ml.so.1");
  }
  SECTION("soname") { elf.soname = "libcudart.so.12"; }
  SECTION("base node") { elf.version_base = "libcudart.so.12"; }
  SECTION("node") { elf.version_definitions = {"libcudart.so.12"}; }
  SECTION("exports") { elf.exports_api = true; }
  const auto plan = plan_scan(elf, path, ScanDepth::usual);
  CHECK(plan.walk_symbols);
  CHECK(plan.search_contents);
  CHECK_FALSE(plan.static_suspect);
}

TEST_CASE("a name of the CUDA family is told by its file name, in letters of either case") {
  for (const char* path :
       {"/x/libcudart.so.12", "/x/LIBCUDART.so", "/x/libcuda.so.1", "/x/LibCuda.so",
        "/x/NVRTC64.so", "/x/libnvidia-ml.so.1", "/x/libNVIDIA-ML.so", "/x/mycudart_shim.so"}) {
    INFO(path);
    CHECK(is_cuda_name(path));
    CHECK(wants_owner(nullptr, path));
  }
  for (const char* path : {"/cudart/libz.so.1", "/x/libc.so.6", "/x/Nothing", "/x/curl", "/x/l"}) {
    INFO(path);
    CHECK_FALSE(is_cuda_name(path));
    CHECK_FALSE(wants_owner(nullptr, path));
  }
}

TEST_CASE("the package is looked up of what is CUDA's by name, soname or exports") {
  ElfFacts elf = make_plain("libmine.so").elf;
  CHECK_FALSE(wants_owner(&elf, "/x/libmine.so"));
  CHECK(wants_owner(&elf, "/x/libcublas.so.13"));
  elf.soname = "libcudart.so.12";
  CHECK(wants_owner(&elf, "/x/libmine.so"));
  elf.soname.reset();
  CHECK_FALSE(wants_owner(&elf, "/x/libmine.so"));
  elf.exports_api = true;
  CHECK(wants_owner(&elf, "/x/libmine.so"));
}

TEST_CASE("an object that needs CUDA is listed for its undefined names") {
  ElfFacts elf = make_plain("libops.so").elf;
  SECTION("DT_NEEDED") { elf.needed.emplace_back("libcudart.so.12"); }
  SECTION("version needs alone") {
    elf.version_needs = {{"libcudart-d0da41ae.so.11.0", {"libcudart.so.11.0"}}};
  }
  const auto plan = plan_scan(elf, "/x/libops.so", ScanDepth::usual);
  CHECK(plan.walk_symbols);
  CHECK_FALSE(plan.search_contents);
}

TEST_CASE("static copies are searched in device code, the CUDA family and programs that use CUDA") {
  ElfFacts elf = make_plain().elf;
  std::string path = "/x/server";
  SECTION("device code") { elf.device_code_sections = true; }
  SECTION("family") {
    path = GENERATE("/x/libcublas.so.13", "/x/libnccl.so.2", "/x/libcudnn_graph.so.9",
                    "/x/libnvshmem_host.so.3",
                    "/v/cuda/bindings/_bindings/cyruntime.cpython-312-x86_64-linux-gnu.so",
                    "/v/cupy_backends/cuda/api/runtime.cpython-312-x86_64-linux-gnu.so",
                    "/x/libtorch_cuda.so");
  }
  SECTION("program") {
    elf.interpreter = "/lib64/ld-linux-x86-64.so.2";
    elf.needed.emplace_back("libcuda.so.1");
  }
  const auto plan = plan_scan(elf, path, ScanDepth::usual);
  CHECK(plan.static_suspect);
  CHECK(plan.search_contents);
}

TEST_CASE("names that only begin like the family are left alone") {
  const char* path = GENERATE("/usr/lib/libcurl.so.4", "/usr/lib/libcups.so.2");
  CHECK_FALSE(plan_scan(make_plain().elf, path, ScanDepth::usual).search_contents);
}

TEST_CASE("cuDNN's front end is searched for its texts, not for a static runtime") {
  const auto plan =
      plan_scan(make_plain().elf, "/v/cudnn/_compiled_module.cpython-312-x86_64-linux-gnu.so",
                ScanDepth::usual);
  CHECK(plan.search_contents);
  CHECK_FALSE(plan.static_suspect);
}
