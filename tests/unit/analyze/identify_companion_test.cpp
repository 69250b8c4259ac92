// Driver, NVRTC and NVML: genuine, stub, shim, broken, and what is none of them.
#include <algorithm>

#include "cudart_doctor/analyze/identify.hpp"
#include "support/catch.hpp"
#include "support/synthetic_elf.hpp"

using namespace cudart_doctor;
using namespace cudart_doctor::test;

namespace {

Companion identify(std::string_view path, const SyntheticElf& made) {
  return identify_companion(path, Fact<ElfFacts>::known(made.elf),
                            Fact<ContentScan>::known(made.content));
}

bool says(const Companion& companion, std::string_view text) {
  return std::any_of(
      companion.evidence.begin(), companion.evidence.end(),
      [&](const std::string& sentence) { return sentence.find(text) != std::string::npos; });
}

SyntheticElf make_shim_driver(std::string_view soname) {
  SyntheticElf made = make_plain(soname);
  made.elf.exports_api = true;
  made.elf.exports = {"cuGetErrorString", "cuLaunchKernel"};
  made.elf.census.driver = 21;
  return made;
}

}  // namespace

TEST_CASE("a driver's version is that of its file name, else of its text") {
  struct Row {
    const char* file;
    const char* text;
    const char* version;
    const char* from;
  };
  const Row row = GENERATE(values<Row>({
      {"libcuda.so.550.163.01", "550.163.01", "550.163.01", "file name"},
      {"libcuda.so.580.105.08", "", "580.105.08", "file name"},
      {"libcuda.so.1", "535.261.03", "535.261.03", "text in the library"},
      {"libcuda.so.1.1", "540.3.0", "540.3.0", "text in the library"},
      {"libcuda.so", "", "", ""},
  }));
  const auto companion = identify(std::string("/usr/lib/") + row.file, make_driver(row.text));
  CHECK(companion.kind == CompanionKind::driver);
  CHECK(companion.version == row.version);
  CHECK(companion.version_from == row.from);
}

TEST_CASE("a compat library is told by its note and its directory together") {
  auto made = make_driver("575.57.08");
  CHECK(identify("/usr/local/cuda-12.9/compat/libcuda.so.575.57.08", made).kind ==
        CompanionKind::driver);
  made.elf.compat_note = "{}";
  CHECK(identify("/usr/local/cuda-12.9/compat/libcuda.so.575.57.08", made).kind ==
        CompanionKind::driver_compat);
  // The ordinary driver of branch 580 was measured to carry the note too.
  CHECK(identify("/usr/lib/libcuda.so.580.159.04", made).kind == CompanionKind::driver);
}

TEST_CASE("the link-time driver is a stub, whatever its exact shape") {
  auto made = make_driver_stub(62176);
  SECTION("the toolkit's") {}
  SECTION("self-built and not optimised: cuInit was not recognised") {
    made = make_driver_stub(105872);
    made.elf.cu_init_is_constant.reset();
  }
  SECTION("linked to libc") { made.elf.needed = {"libc.so.6"}; }
  SECTION("read from memory") { made.elf.file_size = 0, made.elf.required_size = 0; }
  const auto companion = identify("/usr/local/cuda/lib64/stubs/libcuda.so", made);
  CHECK(companion.kind == CompanionKind::driver_stub);
  CHECK(companion.version.empty());
}

TEST_CASE("a small driver with real code is no stub") {
  auto made = make_driver("560.35.02");
  made.elf.required_size = 159'000;
  made.elf.file_size = 160'000;  // WSL2's loader library
  CHECK(identify("/usr/lib/wsl/lib/libcuda.so.1", made).kind == CompanionKind::driver);
  made.elf.needed.clear();
  CHECK(identify("/usr/lib/wsl/lib/libcuda.so.1", made).kind == CompanionKind::undetermined);
}

TEST_CASE("TileLang's driver shim is told by name, text or lack of a soname") {
  const char* name = GENERATE("libcuda_stub.so", "libstub_cuda.so");
  CHECK(identify(std::string("/v/tilelang/lib/") + name, make_shim_driver(name)).kind ==
        CompanionKind::driver_shim);

  auto renamed = make_shim_driver("libcuda.so.1");
  renamed.content.markers = {"CUDA driver library (libcuda.so) not found."};
  CHECK(identify("/x/libcuda.so", renamed).kind == CompanionKind::driver_shim);

  auto helper = make_shim_driver("");
  helper.elf.exports = {"cuGetErrorString"};
  helper.elf.census.driver = 1;
  CHECK(identify("/v/nvidia/cu13/lib/stubs/libcuda.so", helper).kind == CompanionKind::driver_shim);
}

TEST_CASE("a file in the driver's place that is no driver is broken") {
  auto made = make_driver("550.163.01");
  SECTION("cut") { made.elf.file_size = 200'000; }
  SECTION("another library's soname") { made.elf.soname = "libelf.so.1"; }
  SECTION("no soname") { made.elf.soname.reset(); }
  SECTION("no cuInit") { made.elf.exports = {"cuDeviceGet"}; }
  SECTION("no dynamic section") { made.elf.has_dynamic = false; }
  const auto companion = identify("/usr/lib/libcuda.so.1", made);
  CHECK(companion.kind == CompanionKind::driver_broken);
  CHECK_FALSE(companion.evidence.empty());
}

TEST_CASE("a file that ends the loader's search is broken, one that it skips is not") {
  struct Row {
    const char* reason;
    CompanionKind kind;
  };
  const Row row =
      GENERATE(values<Row>({{"empty file", CompanionKind::driver_broken},
                            {"not an ELF file", CompanionKind::driver_broken},
                            {"ends inside its ELF header", CompanionKind::driver_broken},
                            {"32-bit ELF", CompanionKind::undetermined},
                            {"permission denied", CompanionKind::undetermined}}));
  const auto companion =
      identify_companion("/usr/lib/libcuda.so.1", Fact<ElfFacts>::unknown(row.reason), {});
  CHECK(companion.kind == row.kind);
  CHECK(says(companion, row.reason));
}

TEST_CASE("NVRTC: genuine by text, NVIDIA's stub, TileLang's shim") {
  auto made = make_plain("libnvrtc.so.12");
  made.elf.file_size = 60'000'000;
  SECTION("genuine") {
    made.content.text_version = "12.4.127";
    const auto companion = identify("/x/libnvrtc.so.12", made);
    CHECK(companion.kind == CompanionKind::nvrtc);
    CHECK(companion.version == "12.4.127");
  }
  SECTION("stub by its text") {
    made.content.markers = {"You are running using the stub version of nvrtc"};
    CHECK(identify("/x/stubs/libnvrtc.so", made).kind == CompanionKind::nvrtc_stub);
  }
  SECTION("stub by its size") {
    made.elf.file_size = 5'300;
    made.elf.required_size = 5'200;
    CHECK(identify("/x/stubs/libnvrtc.so", made).kind == CompanionKind::nvrtc_stub);
  }
  SECTION("shim") {
    const char* name = GENERATE("libnvrtc_stub.so", "libstub_nvrtc.so");
    CHECK(identify(std::string("/x/") + name, make_plain(name)).kind == CompanionKind::nvrtc_shim);
  }
  SECTION("the builtins are another library") {
    CHECK(identify("/x/libnvrtc-builtins.so.12.4", make_plain("libnvrtc-builtins.so.12.4"))
              .evidence.empty());
  }
}

TEST_CASE("NVML: genuine by file name, stub by text or shape") {
  auto made = make_plain("libnvidia-ml.so.1");
  made.elf.file_size = 2'000'000;
  const auto genuine = identify("/usr/lib/libnvidia-ml.so.550.163.01", made);
  CHECK(genuine.kind == CompanionKind::nvml);
  CHECK(genuine.version == "550.163.01");
  made.content.markers = {"libnvidia-ml.so in GDK package is a stub library"};
  CHECK(identify("/x/stubs/libnvidia-ml.so", made).kind == CompanionKind::nvml_stub);
}

TEST_CASE("neighbours of the driver are none of the companions") {
  const char* name = GENERATE("libcudadebugger.so.1", "libcudart.so.12", "libcudnn.so.9",
                              "libz.so.1", "libnvcuvid.so.1");
  const auto companion = identify(std::string("/x/") + name, make_plain(name));
  CHECK(companion.kind == CompanionKind::undetermined);
  CHECK(companion.evidence.empty());
}
