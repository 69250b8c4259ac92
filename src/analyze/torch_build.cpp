#include "torch_build.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "cudart_doctor/analyze/objects_view.hpp"
#include "cudart_doctor/base/text.hpp"
#include "site_path.hpp"

namespace cudart_doctor {
namespace {

/// In the order in which they are asked: the one that runs kernels first.
constexpr std::array<std::string_view, 3> kLibraries = {"libtorch_cuda.so", "libc10_cuda.so",
                                                        "libtorch_global_deps.so"};

/// 13 of "libcudart.so.13"; a name with a hash carries the major behind ".so." too.
std::optional<int> major_of_soname(std::string_view soname) {
  constexpr std::string_view kMark = ".so.";
  const std::size_t at = soname.find(kMark);
  if (at == std::string_view::npos) return std::nullopt;
  const auto number = parse_unsigned(split(soname.substr(at + kMark.size()), '.').front(), 10);
  if (!number || *number > 99) return std::nullopt;
  return static_cast<int>(*number);
}

/// 13 of "2.9.0+cu130".
std::optional<int> major_of_version(std::string_view version) {
  const std::size_t at = version.find("+cu");
  if (at == std::string_view::npos) return std::nullopt;
  const auto number = parse_unsigned(version.substr(at + 3), 10);
  if (!number || *number < 100 || *number > 999) return std::nullopt;
  return static_cast<int>(*number / 10);
}

/// The major of the runtime packages that are installed, where they agree.
std::optional<int> major_of_packages(const PythonFacts& python) {
  std::optional<int> found;
  for (const PythonDistribution& each : python.distributions) {
    std::optional<std::uint64_t> number;
    if (each.name == "nvidia-cuda-runtime") {
      number = parse_unsigned(split(each.version, '.').front(), 10);
    } else if (each.name.starts_with("nvidia-cuda-runtime-cu")) {
      number = parse_unsigned(std::string_view(each.name).substr(22), 10);
    }
    if (!number || *number > 99) continue;
    const int major = static_cast<int>(*number);
    if (found && *found != major) return std::nullopt;
    found = major;
  }
  return found;
}

}  // namespace

TorchLook look_at_torch(const Snapshot& snapshot) {
  TorchLook look;
  for (const std::string_view name : kLibraries) {
    for (const std::size_t object : loaded_objects(snapshot)) {
      const LoadedObject& library = snapshot.objects[object];
      if (base_name(library.path()) != name) continue;
      const ElfFacts* elf = library.elf.get();
      if (elf == nullptr) {
        look.steps.push_back({library.path(), StepVerdict::noted,
                              "could not be read: " + escape_foreign(library.elf.reason())});
        continue;
      }
      for (const std::string& needed : elf->needed) {
        if (!needed.starts_with("libcudart")) continue;
        look.steps.push_back(
            {library.path(), StepVerdict::noted, "needs " + escape_foreign(needed)});
        look.need = TorchNeed{object, needed};
        return look;
      }
      look.steps.push_back({library.path(), StepVerdict::rejected, "needs no CUDA runtime"});
    }
  }
  return look;
}

std::optional<int> torch_cuda_major(const Snapshot& snapshot) {
  if (const auto need = look_at_torch(snapshot).need) {
    if (const auto major = major_of_soname(need->soname)) return major;
  }
  const PythonDistribution* torch = find_distribution(snapshot.python, "torch");
  if (torch == nullptr) return std::nullopt;
  if (const auto major = major_of_version(torch->version)) return major;
  return major_of_packages(snapshot.python);
}

bool torch_is_here(const Snapshot& snapshot) {
  if (find_distribution(snapshot.python, "torch") != nullptr) return true;
  return std::any_of(snapshot.objects.begin(), snapshot.objects.end(), [](const auto& object) {
    return object.executable && base_name(object.path()).starts_with("libtorch");
  });
}

}  // namespace cudart_doctor
