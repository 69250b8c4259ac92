#include "support/synthetic_elf.hpp"

#include <algorithm>
#include <span>

#include "cudart_doctor/analyze/names.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor::test {
namespace {

const std::vector<std::string>& yardstick_strings() {
  static const std::vector<std::string> kStrings = {
      "libcuda.so.1", "CUDA driver is a stub library",
      "CUDA driver version is insufficient for CUDA runtime version",
      "CUDA_ENABLE_MODULE_LAZY_LOADING"};
  return kStrings;
}

std::uint32_t number_at(std::string_view version, std::size_t index) {
  const auto parts = split(version, '.');
  if (index >= parts.size()) return 0;
  return static_cast<std::uint32_t>(parse_unsigned(parts[index], 10).value_or(0));
}

std::vector<std::string> without(std::vector<std::string> names,
                                 const std::vector<std::string>& missing) {
  std::erase_if(names, [&](const std::string& name) {
    return std::find(missing.begin(), missing.end(), name) != missing.end();
  });
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::vector<std::string> as_strings(std::span<const std::string_view> names) {
  return {names.begin(), names.end()};
}

void append(std::vector<std::string>& to, std::span<const std::string_view> names) {
  to.insert(to.end(), names.begin(), names.end());
}

SyntheticElf make_shared_object(std::string_view soname, std::uint64_t size) {
  SyntheticElf made;
  made.elf.machine = 62;
  made.elf.type = 3;
  made.elf.file_size = size;
  made.elf.required_size = size == 0 ? 0 : size - 8;
  made.elf.load_segments = 4;
  made.elf.has_dynamic = true;
  if (!soname.empty()) made.elf.soname = std::string(soname);
  made.elf.device_code_sections = false;
  made.elf.symbols_walked = true;
  made.content.bytes = size;
  return made;
}

void add_constant(SyntheticElf& made, std::string_view version) {
  made.content.yardstick = yardstick_strings();
  made.content.constants = {{number_at(version, 0) * 1000 + number_at(version, 1) * 10, 2}};
}

}  // namespace

std::string public_soname(std::string_view version) {
  const std::uint32_t major = number_at(version, 0);
  return "libcudart.so." + (major == 11 ? std::string("11.0") : std::to_string(major));
}

SyntheticElf make_genuine_runtime(std::string_view soname, std::string_view version,
                                  const std::vector<std::string>& missing) {
  SyntheticElf made = make_shared_object(soname, 707904);
  made.elf.load_segments = 2;
  made.elf.needed = {"libc.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"};
  made.elf.version_base = public_soname(version);
  made.elf.version_definitions = {public_soname(version)};
  made.elf.runtime_nodes = {public_soname(version)};
  made.elf.has_symbol_versions = true;
  made.elf.is_symbolic = true;
  made.elf.exports_api = true;

  std::vector<std::string> names = as_strings(names_rt11());
  append(names, names_tilelang());
  append(names, names_cudnn_frontend());
  for (const char* name :
       {"__cudaRegisterFatBinary", "__cudaRegisterFunction", "__cudaUnregisterFatBinary",
        "cudaDeviceCanAccessPeer", "cudaDriverGetVersion", "cudaFuncSetAttribute",
        "cudaGetDeviceProperties_v2", "cudaGetDriverEntryPointByVersion", "cudaGetExportTable",
        "cudaGraphInstantiateWithFlags", "cudaHostRegister", "cudaHostUnregister",
        "cudaLaunchKernel", "cudaProfilerStart", "cudaProfilerStop", "cudaRuntimeGetVersion"}) {
    names.emplace_back(name);
  }
  made.elf.exports = without(std::move(names), missing);
  made.elf.census.runtime = 402 - static_cast<std::uint32_t>(missing.size());
  made.elf.defined_symbols = made.elf.census.runtime + 1;
  add_constant(made, version);
  return made;
}

SyntheticElf make_lookalike(std::string_view soname, const std::vector<std::string>& missing) {
  SyntheticElf made = make_shared_object(soname, 26808);
  made.elf.needed = {"libstdc++.so.6", "libgcc_s.so.1", "libc.so.6"};
  made.elf.has_symbol_versions = true;
  made.elf.exports = without(as_strings(names_rt11()), missing);
  made.elf.exports_api = !made.elf.exports.empty();
  if (made.elf.exports_api) made.elf.runtime_nodes = {""};
  made.elf.census.runtime = static_cast<std::uint32_t>(made.elf.exports.size());
  made.elf.defined_symbols = made.elf.census.runtime;
  return made;
}

SyntheticElf make_driver(std::string_view version) {
  SyntheticElf made = make_shared_object("libcuda.so.1", 28712096);
  made.elf.needed = {"libm.so.6", "libc.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"};
  made.elf.is_symbolic = true;
  made.elf.exports_api = true;
  made.elf.exports = {"cuCtxCreate_v2",      "cuDeviceGet", "cuDriverGetVersion",
                      "cuGetProcAddress_v2", "cuInit",      "cuMemAlloc_v2"};
  made.elf.census.driver = 636;
  made.elf.defined_symbols = 656;
  made.elf.cu_init_is_constant = false;
  if (!version.empty()) made.content.text_version = std::string(version);
  made.content.yardstick = {"libcuda.so.1"};
  made.content.constants = {{12040, 4}};
  return made;
}

SyntheticElf make_driver_stub(std::uint64_t size) {
  SyntheticElf made = make_shared_object("libcuda.so.1", size);
  made.elf.is_symbolic = true;
  made.elf.exports_api = true;
  made.elf.exports = {"cuCtxCreate_v2",         "cuDeviceGet", "cuDriverGetVersion",
                      "cuGreenCtxStreamCreate", "cuInit",      "cuMemAlloc_v2"};
  made.elf.census.driver = 637;
  made.elf.defined_symbols = 637;
  made.elf.cu_init_is_constant = true;
  return made;
}

SyntheticElf make_nvrtc(std::string_view soname, std::string_view version) {
  SyntheticElf made = make_shared_object(soname, 60418376);
  made.elf.needed = {"libpthread.so.0", "librt.so.1", "libdl.so.2", "libm.so.6", "libc.so.6"};
  made.elf.runpath = "$ORIGIN";
  made.elf.exports_api = true;
  made.elf.exports = {"nvrtcCompileProgram", "nvrtcCreateProgram", "nvrtcVersion"};
  made.elf.census.nvrtc = 23;
  made.elf.defined_symbols = 23;
  made.content.text_version = std::string(version);
  return made;
}

SyntheticElf make_plain(std::string_view soname) {
  SyntheticElf made = make_shared_object(soname, 81920);
  made.elf.needed = {"libc.so.6"};
  made.elf.has_symbol_versions = true;
  made.elf.defined_symbols = 12;
  return made;
}

SyntheticElf make_static_copy(std::string_view version) {
  SyntheticElf made = make_plain();
  made.elf.device_code_sections = true;
  add_constant(made, version);
  return made;
}

}  // namespace cudart_doctor::test
