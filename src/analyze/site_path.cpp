#include "site_path.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

bool lies_in(std::string_view path, std::string_view directory) {
  return !directory.empty() && path.size() > directory.size() && path.starts_with(directory) &&
         path[directory.size()] == '/';
}

// Distribution names compare in lower case with '-' for every run of '-', '_' and '.' (PEP 503).
std::string normalised(std::string_view name) {
  std::string out;
  for (char c : name) {
    const bool mark = c == '-' || c == '_' || c == '.';
    if (mark && !out.empty() && out.back() == '-') continue;
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    out += mark ? '-' : c;
  }
  return out;
}

/// Names of distributions that may have brought `rest`, likeliest first.
std::vector<std::string> likely_owners(std::string_view rest, std::optional<int> major) {
  const auto parts = split(rest, '/');
  const std::string_view first = parts.front();
  if (first == "nvidia" && parts.size() > 1) {
    if (parts[1] == "cuda_runtime") {
      const std::string suffix = std::to_string(major.value_or(12));
      return {"nvidia-cuda-runtime-cu" + suffix, "nvidia-cuda-runtime"};
    }
    if (parts[1].starts_with("cu1")) return {"nvidia-cuda-runtime"};
    return {};
  }
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kOtherNames = {{
      {"flashinfer", "flashinfer-python"},
      {"cudnn", "nvidia-cudnn-frontend"},
      {"sgl_kernel", "sglang-kernel"},
      {"cuda", "cuda-bindings"},
  }};
  std::vector<std::string> names;
  for (const auto& [folder, name] : kOtherNames) {
    if (first == folder) names.emplace_back(name);
  }
  const bool is_libs = first.ends_with(".libs");
  names.push_back(normalised(is_libs ? first.substr(0, first.size() - 5) : first));
  return names;
}

/// "12.6" of a component "cuda-12.6"; empty for any other.
std::string_view toolkit_version(std::string_view component) {
  if (!component.starts_with("cuda-")) return {};
  const std::string_view version = component.substr(5);
  const auto parts = split(version, '.');
  const bool numbers = std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
    return parse_unsigned(part, 10).has_value();
  });
  return numbers ? version : std::string_view{};
}

}  // namespace

std::optional<SitePath> split_site_path(std::string_view path, const PythonFacts& python) {
  std::string_view longest;
  for (const std::string& site : python.site_directories) {
    if (lies_in(path, site) && site.size() > longest.size()) longest = site;
  }
  // Most paths hold neither mark: one search for their common, rare part tells.
  if (path.find("-packages/") == std::string_view::npos && longest.empty()) return std::nullopt;
  for (std::string_view mark : {"/site-packages/", "/dist-packages/"}) {
    const std::size_t at = path.rfind(mark);
    if (at == std::string_view::npos) continue;
    const std::string_view site = path.substr(0, at + mark.size() - 1);
    if (site.size() > longest.size()) longest = site;
  }
  if (longest.empty() || path.size() <= longest.size() + 1) return std::nullopt;
  return SitePath{longest, path.substr(longest.size() + 1)};
}

const PythonDistribution* find_distribution(const PythonFacts& python, std::string_view name) {
  const auto rank = [&](const PythonDistribution& distribution) {
    return std::find(python.site_directories.begin(), python.site_directories.end(),
                     distribution.directory) -
           python.site_directories.begin();
  };
  const PythonDistribution* first = nullptr;
  for (const PythonDistribution& distribution : python.distributions) {
    if (distribution.name != name) continue;
    if (first == nullptr || rank(distribution) < rank(*first)) first = &distribution;
  }
  return first;
}

std::string guess_owner(std::string_view path, const PythonFacts& python,
                        std::optional<int> major) {
  const auto site = split_site_path(path, python);
  if (!site) {
    for (std::string_view component : split(path, '/')) {
      const std::string_view version = toolkit_version(component);
      if (!version.empty()) return "CUDA toolkit " + std::string(version);
    }
    return {};
  }
  for (const std::string& name : likely_owners(site->rest, major)) {
    for (const PythonDistribution& distribution : python.distributions) {
      if (distribution.name == name && distribution.directory == site->site) {
        return name + " " + escape_foreign(distribution.version);
      }
    }
  }
  return {};
}

}  // namespace cudart_doctor
