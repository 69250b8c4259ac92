#include "cudart_doctor/collect/python_names.hpp"

#include <algorithm>
#include <array>

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string normalised(std::string_view name) {
  std::string result;
  for (const char c : name) {
    const bool separator = c == '-' || c == '_' || c == '.';
    if (separator && !result.empty() && result.back() == '-') continue;
    if (separator) {
      result += '-';
    } else {
      result += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
  }
  return result;
}

/// "3.11.2" or "3.11.2.final.0" to "3.11".
std::string major_minor(std::string_view version) {
  const auto parts = split(version, '.');
  if (parts.size() < 2) return {};
  for (std::size_t i = 0; i < 2; ++i) {
    if (parts[i].empty() || !std::all_of(parts[i].begin(), parts[i].end(), is_digit)) return {};
  }
  return std::string(parts[0]) + "." + std::string(parts[1]);
}

}  // namespace

VenvConfig parse_pyvenv_cfg(std::string_view text) {
  VenvConfig config;
  for (const auto line : split(text, '\n')) {
    const auto equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const auto key = trim(line.substr(0, equals));
    const auto value = trim(line.substr(equals + 1));
    if (key == "home") config.home = std::string(value);
    // venv writes "version", virtualenv and uv "version_info".
    if (key == "version" || key == "version_info") config.version = major_minor(value);
    if (key == "include-system-site-packages") {
      config.system_sites = value == "true" || value == "True" || value == "TRUE";
    }
  }
  return config;
}

std::optional<std::pair<std::string, std::string>> parse_metadata_name(std::string_view name) {
  constexpr std::array<std::string_view, 2> kSuffixes = {".dist-info", ".egg-info"};
  const auto suffix = std::find_if(kSuffixes.begin(), kSuffixes.end(),
                                   [&](std::string_view end) { return name.ends_with(end); });
  if (suffix == kSuffixes.end()) return std::nullopt;
  std::string_view stem = name.substr(0, name.size() - suffix->size());
  const auto python_tag = stem.rfind("-py");
  if (*suffix == ".egg-info" && python_tag != std::string_view::npos &&
      python_tag + 3 < stem.size() && is_digit(stem[python_tag + 3])) {
    stem = stem.substr(0, python_tag);
  }
  if (stem.empty()) return std::nullopt;
  // Old metadata does not escape "-" in names: the version is the last part that begins so.
  for (auto dash = stem.rfind('-'); dash != std::string_view::npos && dash > 0;
       dash = stem.rfind('-', dash - 1)) {
    if (dash + 1 < stem.size() && is_digit(stem[dash + 1])) {
      return std::pair{normalised(stem.substr(0, dash)), std::string(stem.substr(dash + 1))};
    }
  }
  return std::pair{normalised(stem), std::string()};
}

std::optional<std::string> site_directory_of(std::string_view path) {
  for (const std::string_view part : {"/site-packages/", "/dist-packages/"}) {
    const auto at = path.find(part);
    if (at != std::string_view::npos) return std::string(path.substr(0, at + part.size() - 1));
  }
  return std::nullopt;
}

std::optional<std::string> python_version_in(std::string_view path) {
  for (auto at = path.find("python"); at != std::string_view::npos;
       at = path.find("python", at + 1)) {
    const std::string_view rest = path.substr(at + 6);
    const auto end =
        std::find_if(rest.begin(), rest.end(), [](char c) { return !is_digit(c) && c != '.'; });
    const auto version = major_minor(rest.substr(0, static_cast<std::size_t>(end - rest.begin())));
    if (!version.empty()) return version;
  }
  return std::nullopt;
}

bool is_python_name(std::string_view name) {
  constexpr std::string_view kStem = "python";
  if (!name.starts_with(kStem)) return false;
  return std::all_of(name.begin() + kStem.size(), name.end(),
                     [](char c) { return is_digit(c) || c == '.' || c == 't' || c == 'd'; });
}

}  // namespace cudart_doctor
