// What an object deserves: decided from its cheap facts, so that most of the hundreds of mapped
// objects cost two reads and no search.
#include "cudart_doctor/analyze/scan_plan.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

bool begins_lower(std::string_view text, std::string_view word) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return text.size() >= word.size() && std::equal(word.begin(), word.end(), text.begin(),
                                                  [&](char a, char b) { return a == lower(b); });
}

bool is_cuda_library(std::string_view soname) {
  return soname.starts_with("libcudart") || soname.starts_with("libcuda.so");
}

// TileLang renames its shim (libstub_cudart.so): who needs that calls the runtime too.
bool needs_runtime(std::string_view soname) {
  return is_cuda_library(soname) || soname.find("cudart") != std::string_view::npos;
}

bool needs_cuda(const ElfFacts& elf) {
  return std::any_of(elf.needed.begin(), elf.needed.end(), needs_runtime) ||
         std::any_of(elf.version_needs.begin(), elf.version_needs.end(),
                     [](const VersionNeed& need) { return is_cuda_library(need.file); });
}

bool has_runtime_node(const ElfFacts& elf) {
  if (elf.version_base && is_cuda_library(*elf.version_base)) return true;
  return std::any_of(elf.version_definitions.begin(), elf.version_definitions.end(),
                     is_cuda_library);
}

// Libraries that have been seen with the runtime linked in, and their kin. libcu and libnv cover
// cublas, cusparse, curand, cusolver, cufft, cudnn, cupti, nvjitlink and nvshmem.
bool is_family_name(std::string_view path) {
  static constexpr std::array<std::string_view, 9> kPrefixes = {
      "libcu",  "libnv",     "libnccl",       "libtorch_cuda", "libc10_cuda",
      "libnpp", "cyruntime", "libtensorflow", "libxla"};
  const std::string_view base = base_name(path);
  if (base.starts_with("libcurl") || base.starts_with("libcups")) return false;
  const bool by_name =
      std::any_of(kPrefixes.begin(), kPrefixes.end(),
                  [&](std::string_view prefix) { return base.starts_with(prefix); });
  return by_name || path.find("/cuda/bindings/") != std::string_view::npos ||
         path.find("/cupy_backends/cuda/") != std::string_view::npos;
}

}  // namespace

bool is_cuda_name(std::string_view path) {
  // Asked of every name in every directory: one pass, and most letters begin none of the words.
  for (std::string_view rest = base_name(path); !rest.empty(); rest.remove_prefix(1)) {
    switch (rest.front()) {
      case 'c':
      case 'C':
        if (begins_lower(rest, "cudart")) return true;
        break;
      case 'l':
      case 'L':
        if (begins_lower(rest, "libcuda")) return true;
        break;
      case 'n':
      case 'N':
        if (begins_lower(rest, "nvrtc") || begins_lower(rest, "nvidia-ml")) return true;
        break;
      default: break;
    }
  }
  return false;
}

bool wants_owner(const ElfFacts* elf, std::string_view path) {
  static constexpr std::array<std::string_view, 3> kToolkit = {"libcublas", "libnvJitLink.",
                                                               "libcupti."};
  const std::string_view base = base_name(path);
  const bool by_name = is_cuda_name(path) ||
                       std::any_of(kToolkit.begin(), kToolkit.end(),
                                   [&](std::string_view name) { return base.starts_with(name); });
  if (by_name || elf == nullptr) return by_name;
  return elf->exports_api || (elf->soname && is_cuda_name(*elf->soname));
}

ScanPlan plan_scan(const ElfFacts& elf, std::string_view path, ScanDepth depth) {
  const bool named = is_cuda_name(path) || (elf.soname && is_cuda_name(*elf.soname));
  const bool offers_api = named || elf.exports_api || has_runtime_node(elf);
  const bool is_program = elf.interpreter.has_value();
  ScanPlan plan;
  plan.static_suspect =
      !offers_api && (elf.device_code_sections == true || is_family_name(path) ||
                      (is_program && needs_cuda(elf)) || depth == ScanDepth::deep);
  // cuDNN's front end opens the runtime by name and is told only by its texts.
  const bool is_front_end = base_name(path).starts_with("_compiled_module");
  plan.search_contents = offers_api || plan.static_suspect || is_front_end;
  plan.walk_symbols = offers_api || needs_cuda(elf) || depth == ScanDepth::deep;
  return plan;
}

}  // namespace cudart_doctor
