#include "cudart_doctor/collect/read_maps.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/formats/proc_text.hpp"

namespace cudart_doctor {
namespace {

constexpr std::uint64_t kMapsCap = 1u << 30;

/// First field of statm: total program size in pages.
std::string program_size(const ProcDirectory& process) {
  auto text = process.read_file("statm");
  return text ? text->substr(0, text->find(' ')) : std::string();
}

}  // namespace

Result<MapsLook> read_maps(const ProcDirectory& process) {
  MapsLook look;
  std::string before = program_size(process);
  while (look.reads < kMaxMapsReads) {
    auto text = process.read_file("maps", kMapsCap);
    if (!text) return tl::unexpected(text.error());
    ++look.reads;
    auto table = parse_maps(std::move(*text));
    if (!table) return tl::unexpected(table.error());
    look.table = std::move(*table);
    std::string after = program_size(process);
    look.consistent = before == after && addresses_ascend(look.table);
    if (look.consistent) break;
    before = std::move(after);
  }
  return look;
}

std::vector<LoadedObject> group_objects(const MapsTable& maps) {
  // Objects are large: they are counted before they are made.
  std::map<FileKey, std::uint32_t> index;
  std::vector<std::uint32_t> object_of_row(maps.rows.size());
  std::optional<std::size_t> before;  // The last row of a file: most have several in a row.
  for (std::size_t i = 0; i < maps.rows.size(); ++i) {
    const Mapping& row = maps.rows[i];
    if (!row.file.is_file()) continue;
    if (before && maps.rows[*before].file == row.file) {
      object_of_row[i] = object_of_row[*before];
    } else {
      const auto number = static_cast<std::uint32_t>(index.size());
      object_of_row[i] = index.try_emplace(row.file, number).first->second;
    }
    before = i;
  }
  std::vector<LoadedObject> objects(index.size());
  for (std::size_t i = 0; i < maps.rows.size(); ++i) {
    const Mapping& row = maps.rows[i];
    if (!row.file.is_file()) continue;
    LoadedObject& object = objects[object_of_row[i]];
    if (object.rows.empty()) {
      object.key = row.file;
      object.lowest = row.lo;
    }
    object.lowest = std::min(object.lowest, row.lo);
    object.executable = object.executable || row.executable;
    object.rows.push_back(static_cast<std::uint32_t>(i));
    const std::string_view path = maps.path(row);
    if (!path.empty() &&
        std::find(object.paths.begin(), object.paths.end(), path) == object.paths.end()) {
      object.paths.emplace_back(path);
    }
  }
  const auto below = [](const LoadedObject& a, const LoadedObject& b) {
    return std::tie(a.lowest, a.key) < std::tie(b.lowest, b.key);
  };
  if (!std::is_sorted(objects.begin(), objects.end(), below)) {
    std::sort(objects.begin(), objects.end(), below);
  }
  return objects;
}

}  // namespace cudart_doctor
