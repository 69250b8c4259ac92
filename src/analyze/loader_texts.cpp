#include "loader_texts.hpp"

#include <algorithm>

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {

std::string entry_that_brought(const Snapshot& snapshot, std::string_view path) {
  constexpr std::string_view kVariable = "LD_LIBRARY_PATH";
  const Environment* environment = snapshot.environment.get();
  const std::string* value = environment == nullptr ? nullptr : environment->find(kVariable);
  if (value == nullptr) return {};
  const auto parts = split(*value, ':');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::string_view part = parts[i];
    while (part.size() > 1 && part.ends_with('/')) part.remove_suffix(1);
    if (part != dir_name(path)) continue;
    return std::string(kVariable) + " entry " + std::to_string(i + 1) + " of " +
           std::to_string(parts.size()) + " is " + escape_foreign(part);
  }
  return {};
}

std::vector<std::string> preload_entries(std::string_view list) {
  std::vector<std::string> out;
  while (!list.empty()) {
    const std::size_t size = list.find_first_of(" :");
    if (size != 0) out.emplace_back(list.substr(0, size));
    list.remove_prefix(size == std::string_view::npos ? list.size() : size + 1);
  }
  return out;
}

std::vector<std::string> preload_file_entries(std::string_view text) {
  std::string list;
  for (const std::string_view line : split(text, '\n')) {
    list += line.substr(0, line.find('#'));
    list += ' ';
  }
  std::replace(list.begin(), list.end(), '\t', ' ');
  return preload_entries(list);
}

}  // namespace cudart_doctor
