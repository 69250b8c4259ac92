#include "family.hpp"

#include <algorithm>
#include <array>

namespace cudart_doctor::recorder {
namespace {

/// Words of file names, in lower case. "libcu" alone would be libcurl and libcups too, "libnv"
/// libnvme.
constexpr std::string_view kNameParts[] = {
    "cuda",    "cudnn",   "nccl",     "nvidia-",   "nvrtc", "nvjitlink",  "nvtoolsext", "nvjpeg",
    "nvshmem", "nvinfer", "nvperf",   "cublas",    "cufft", "curand",     "cusolver",   "cusparse",
    "cupti",   "cufile",  "cutensor", "cyruntime", "npp",   "tensorflow", "xla"};

/// Folders whose libraries have the runtime linked in, whatever they are called.
constexpr std::string_view kFolders[] = {"/cuda/bindings/", "/cupy_backends/cuda/"};

/// One of the runtime, the driver, NVRTC, NVML and NCCL each, that every version of theirs has; of
/// the runtime more, because look-alikes define only what their makers needed.
constexpr SymbolName kDefinitions[] = {SymbolName{"cudaRuntimeGetVersion"},
                                       SymbolName{"cudaMalloc"},
                                       SymbolName{"cudaGetErrorString"},
                                       SymbolName{"cudaLaunchKernel"},
                                       SymbolName{"cuInit"},
                                       SymbolName{"nvrtcVersion"},
                                       SymbolName{"nvmlInit_v2"},
                                       SymbolName{"ncclGetVersion"}};

constexpr SymbolName kHooks[] = {SymbolName{"dlopen"}, SymbolName{"dlsym"}};

/// The C library's own objects, which define the hooks' names.
constexpr std::string_view kCLibrary[] = {"libc.so", "libc-",    "libdl.so",
                                          "libdl-",  "ld-linux", "ld-2."};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string_view file_name(std::string_view path) {
  const auto slash = path.rfind('/');
  if (slash != std::string_view::npos) path.remove_prefix(slash + 1);
  return path;
}

bool is_letter(char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }

/// Whether a word of `name` begins with `part`: libicudata is no library of CUDA's.
bool holds(std::string_view name, std::string_view part) {
  constexpr std::string_view kPrefix = "lib";
  for (std::size_t at = 0; part.size() <= name.size() - at; ++at) {
    const bool begins_word =
        at == 0 || !is_letter(name[at - 1]) || (at == kPrefix.size() && name.starts_with(kPrefix));
    const std::string_view here(name.begin() + at, part.size());
    const auto same = [](char a, char b) { return lower(a) == b; };
    if (begins_word && std::ranges::equal(here, part, same)) return true;
  }
  return false;
}

bool is_family_name(std::string_view path) {
  const auto name = file_name(path);
  const auto is_below = [&](std::string_view folder) {
    return !std::ranges::search(path, folder).empty();
  };
  return std::ranges::any_of(kNameParts,
                             [&](std::string_view part) { return holds(name, part); }) ||
         std::ranges::any_of(kFolders, is_below);
}

template <typename Names>
bool defines_any(const LoadedObject& object, const Names& names) {
  return std::ranges::any_of(names, [&](const SymbolName& name) { return object.find(name) != 0; });
}

}  // namespace

bool checks_leaks(const LoadedObject& object) {
  static constexpr SymbolName kCheck{"__lsan_do_leak_check"};
  return object.find(kCheck) != 0;
}

bool is_c_library(std::string_view path) {
  const auto name = file_name(path);
  return std::ranges::any_of(kCLibrary,
                             [&](std::string_view start) { return name.starts_with(start); });
}

Interest interest_in(const LoadedObject& object, std::string_view path) {
  if (is_family_name(path) || defines_any(object, kDefinitions) ||
      object.any_needed(is_family_name)) {
    return Interest::family;
  }
  if (!is_c_library(path) && defines_any(object, kHooks)) return Interest::hook;
  return Interest::none;
}

}  // namespace cudart_doctor::recorder
