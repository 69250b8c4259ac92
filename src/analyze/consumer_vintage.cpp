// Signatures and boundaries were read in the released wheels: vLLM 0.8.5 to 0.33.0, SGLang 0.4.10
// to 0.5.23, FlashInfer 0.5.3 to 0.7.4, cudnn-frontend 1.24.1 to 1.32.0, TileLang 0.1.8 to 0.1.15,
// cuda-pathfinder 1.0.0 to 1.9.1, sgl-kernel 0.1.0; its later texts in the SGLang repository.
#include "consumer_vintage.hpp"

#include <array>

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

bool has(std::string_view text, std::string_view needle) {
  return text.find(needle) != std::string_view::npos;
}

/// The list of bound names in the wrapper's source.
std::string_view bound_list(std::string_view source) {
  const std::size_t begin = source.find("exported_functions = [");
  if (begin == std::string_view::npos) return {};
  return source.substr(begin, source.find("\n    ]", begin) - begin);
}

std::string legacy(std::string_view id, std::string_view list_source) {
  if (id != "flashinfer") return std::string(id) + "-legacy";
  const std::string_view list = bound_list(list_source);
  if (list.empty()) return {};
  return has(list, "\"cudaIpcCloseMemHandle\"") ? "flashinfer-legacy-rt11"
                                                : "flashinfer-legacy-rt10";
}

/// FlashInfer's anchored rule by the characters that it allows in a hash.
std::string anchored(std::string_view search) {
  if (has(search, "(?:-[0-9a-fA-F]+)?\\.so")) return "flashinfer-2026-09";
  if (has(search, "(?:-[0-9a-f]+)?\\.so")) return "maps-anchored-hex";
  if (has(search, "(?:-[^.]+)?\\.so")) return "flashinfer-5198-draft";
  return {};
}

/// From `since` on the release has the rule `vintage`.
struct Boundary {
  std::string_view id;
  std::string_view since;
  std::string_view vintage;
};

// For each consumer the newest first.
constexpr std::array<Boundary, 17> kBoundaries = {{
    {"vllm", "0.31.0", "vllm-2026-10"},
    {"vllm", "0.26.0", "vllm-2026-07"},
    {"vllm", "0", "vllm-legacy"},
    {"sglang", "0.5.16", "sglang-2026-07"},
    {"sglang", "0", "sglang-legacy"},
    {"flashinfer", "0.7.1", "flashinfer-2026-09"},
    {"flashinfer", "0.6.17", "flashinfer-legacy-rt11"},
    {"flashinfer", "0", "flashinfer-legacy-rt10"},
    {"tilelang", "0.1.10", "tilelang-stub"},
    {"tilelang", "0.1.9", "tilelang-stub-0.1.9"},
    {"tilelang", "0.1.8", "tilelang-stub-0.1.8"},
    {"cudnn-frontend", "1.25.0", "cudnn-frontend-2026-06"},
    {"cudnn-frontend", "1.19.0", "cudnn-frontend"},
    {"cuda-pathfinder", "1.8.0", "cuda-pathfinder"},
    {"cuda-pathfinder", "1.5.0", "cuda-pathfinder-1.5"},
    {"cuda-pathfinder", "1.2.0", "cuda-pathfinder-1.2"},
    {"cuda-pathfinder", "1.0.0", "cuda-pathfinder-1.0"},
}};

constexpr std::string_view kSglKernel = "sglang-kernel";

/// Its preload by what the text looks for; the fixed path stood in __init__.py.
std::string sgl_kernel_vintage(std::string_view source) {
  if (!has(source, "RTLD_GLOBAL")) return {};
  if (has(source, "f\"libcudart.so.{lib_version}\"")) return "sglang-kernel-preload";
  if (has(source, "base / \"libcudart.so.12\"")) return "sglang-kernel-preload-12";
  if (has(source, "cuda_path / \"libcudart.so.12\"")) return "sglang-kernel-preload-lib";
  if (has(source, "\"/usr/local/cuda/targets/x86_64-linux/lib/libcudart.so.12\"")) {
    return "sglang-kernel-preload-fixed";
  }
  return {};
}

}  // namespace

bool defines_rule(std::string_view id, std::string_view source) {
  if (id == kSglKernel) return !sgl_kernel_vintage(source).empty();
  return has(source, "def find_loaded_librar") || has(source, "def _find_loaded_librar");
}

std::string vintage_of_text(std::string_view id, const ConsumerSource& source) {
  if (id == kSglKernel) return sgl_kernel_vintage(source.search);
  // The order matters: FlashInfer's anchored rule still carries the old assertion's text.
  if (has(source.search, "def _is_library_filename")) {
    return id == "flashinfer" ? anchored(source.search) : "";
  }
  if (has(source.search, "startswith((f\"{lib_name}.\", f\"{lib_name}-\"))")) {
    if (id != "vllm") return {};
    return has(bound_list(source.list), "\"cudaHostRegister\"") ? "vllm-2026-10" : "vllm-2026-07";
  }
  if (has(source.search, "\"stub\" not in os.path.basename(path)")) {
    if (id != "sglang") return {};
    return has(source.search, "path.endswith(\" (deleted)\")") ? "sglang-2026-07"
                                                               : "sglang-30870-draft";
  }
  if (has(source.search, "Unexpected filename: {filename} for library {lib_name}")) {
    return legacy(id, source.list);
  }
  return {};
}

std::string vintage_of_version(std::string_view id, std::string_view version) {
  if (version.empty() || has(version, "dev")) return {};
  if (id == "torch") return "torch-elf";
  for (const Boundary& row : kBoundaries) {
    if (row.id == id && compare_versions(version, row.since) >= 0) return std::string(row.vintage);
  }
  return {};
}

}  // namespace cudart_doctor
