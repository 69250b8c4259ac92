#include "cudart_doctor/collect/read_maps.hpp"

#include <algorithm>
#include <map>
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
  std::map<FileKey, std::size_t> index;
  std::vector<LoadedObject> objects;
  for (std::size_t i = 0; i < maps.rows.size(); ++i) {
    const Mapping& row = maps.rows[i];
    if (!row.file.is_file()) continue;
    const auto [place, fresh] = index.try_emplace(row.file, objects.size());
    if (fresh) {
      LoadedObject& object = objects.emplace_back();
      object.key = row.file;
      object.lowest = row.lo;
    }
    LoadedObject& object = objects[place->second];
    object.lowest = std::min(object.lowest, row.lo);
    object.executable = object.executable || row.executable;
    object.rows.push_back(static_cast<std::uint32_t>(i));
    const std::string_view path = maps.path(row);
    if (!path.empty() &&
        std::find(object.paths.begin(), object.paths.end(), path) == object.paths.end()) {
      object.paths.emplace_back(path);
    }
  }
  std::sort(objects.begin(), objects.end(), [](const auto& a, const auto& b) {
    return std::tie(a.lowest, a.key) < std::tie(b.lowest, b.key);
  });
  return objects;
}

}  // namespace cudart_doctor
