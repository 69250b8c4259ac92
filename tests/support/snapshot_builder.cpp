#include "support/snapshot_builder.hpp"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "cudart_doctor/analyze/maps_view.hpp"
#include "cudart_doctor/formats/proc_text.hpp"

namespace cudart_doctor::test {

MapsText& MapsText::library(std::string_view path, std::uint64_t inode) {
  return mapping(path, inode, "r-xp").mapping(path, inode, "rw-p");
}

MapsText& MapsText::mapping(std::string_view path, std::uint64_t inode,
                            std::string_view permissions) {
  char head[96];
  const auto lo = static_cast<unsigned long long>(next_);
  const auto size = std::snprintf(head, sizeof head, "%llx-%llx %.4s 00000000 %s %llu ", lo,
                                  lo + 0x1000, permissions.data(), inode == 0 ? "00:00" : "fe:00",
                                  static_cast<unsigned long long>(inode));
  std::string line(head, static_cast<std::size_t>(size));
  if (!path.empty()) {
    line.resize(std::max<std::size_t>(line.size(), 73), ' ');
    line += path;
  }
  text_ += line + '\n';
  next_ += 0x10000;
  return *this;
}

FileKey key(std::uint64_t inode) { return {0xfe, 0, inode}; }

SnapshotBuilder::SnapshotBuilder(const std::string& maps) {
  snapshot_.origin = SnapshotOrigin::fixture;
  auto parsed = parse_maps(maps);
  if (!parsed) throw std::runtime_error(parsed.error().message);
  snapshot_.maps = std::move(*parsed);
  auto& objects = snapshot_.objects;
  for (std::uint32_t row = 0; row < snapshot_.maps.rows.size(); ++row) {
    const Mapping& mapping = snapshot_.maps.rows[row];
    if (!mapping.file.is_file()) continue;
    auto found = std::find_if(objects.begin(), objects.end(), [&](const LoadedObject& object) {
      return object.key == mapping.file;
    });
    if (found == objects.end()) {
      objects.push_back({});
      found = objects.end() - 1;
      found->key = mapping.file;
      found->lowest = mapping.lo;
    }
    const std::string_view shown = snapshot_.maps.path(mapping);
    const std::string path(cut_deleted_mark(shown));
    if (path.size() != shown.size()) found->marked_deleted = true;
    found->executable = found->executable || mapping.executable;
    found->rows.push_back(row);
    if (std::find(found->paths.begin(), found->paths.end(), path) == found->paths.end()) {
      found->paths.push_back(path);
    }
  }
}

SnapshotBuilder& SnapshotBuilder::live() {
  snapshot_.origin = SnapshotOrigin::live;
  return *this;
}

LoadedObject& SnapshotBuilder::object_at(std::string_view path) {
  for (LoadedObject& object : snapshot_.objects) {
    const auto& paths = object.paths;
    if (std::find(paths.begin(), paths.end(), path) != paths.end()) return object;
  }
  throw std::runtime_error("no object at " + std::string(path));
}

SnapshotBuilder& SnapshotBuilder::elf(std::string_view path, ElfFacts facts) {
  object_at(path).elf = Fact<ElfFacts>::known(std::move(facts));
  return *this;
}

SnapshotBuilder& SnapshotBuilder::unread(std::string_view path, std::string reason) {
  object_at(path).elf = Fact<ElfFacts>::unknown(std::move(reason));
  return *this;
}

SnapshotBuilder& SnapshotBuilder::state(std::string_view path, FileState state, FileKey now) {
  LoadedObject& object = object_at(path);
  object.state = state;
  if (now.is_file()) object.path_now = now;
  return *this;
}

SnapshotBuilder& SnapshotBuilder::executable_is(std::string_view path) {
  snapshot_.process.executable = Fact<std::string>::known(std::string(path));
  return *this;
}

SnapshotBuilder& SnapshotBuilder::env(std::string_view name, std::string_view value) {
  empty_env();
  snapshot_.environment.get()->variables.emplace_back(name, value);
  return *this;
}

SnapshotBuilder& SnapshotBuilder::empty_env() {
  if (!snapshot_.environment.is_known()) {
    snapshot_.environment = Fact<Environment>::known({EnvironmentOrigin::fixture, {}, {}});
  }
  return *this;
}

SnapshotBuilder& SnapshotBuilder::link(std::string_view name, std::string_view object_path) {
  if (!snapshot_.link_map.is_known()) {
    snapshot_.link_map = Fact<std::vector<LinkNamespace>>::known({LinkNamespace{}});
  }
  const auto index = static_cast<std::uint32_t>(&object_at(object_path) - snapshot_.objects.data());
  snapshot_.link_map.get()->front().entries.push_back({0, std::string(name), index});
  return *this;
}

SnapshotBuilder& SnapshotBuilder::disk(std::string_view path, DiskEntry entry) {
  snapshot_.disk[std::string(path)] = std::move(entry);
  return *this;
}

SnapshotBuilder& SnapshotBuilder::cache(std::string_view soname, std::string_view path,
                                        std::uint32_t flags) {
  empty_cache();
  snapshot_.loader.cache.get()->push_back({std::string(soname), std::string(path), flags, false});
  return *this;
}

SnapshotBuilder& SnapshotBuilder::empty_cache() {
  if (!snapshot_.loader.cache.is_known()) {
    snapshot_.loader.cache = Fact<std::vector<LoaderCacheEntry>>::known({});
  }
  return *this;
}

SnapshotBuilder& SnapshotBuilder::search(std::string_view name, std::string_view path) {
  snapshot_.loader.given_searches[std::string(name)] = std::string(path);
  return *this;
}

DiskEntry elf_file(std::uint64_t inode, ElfFacts facts) {
  DiskEntry entry;
  entry.kind = DiskKind::file;
  entry.key = key(inode);
  entry.size = 707904;
  entry.elf = Fact<ElfFacts>::known(std::move(facts));
  return entry;
}

DiskEntry odd_file(std::uint64_t size, std::string reason) {
  DiskEntry entry;
  entry.kind = DiskKind::file;
  entry.key = key(999);
  entry.size = size;
  entry.elf = Fact<ElfFacts>::unknown(std::move(reason));
  return entry;
}

DiskEntry directory() {
  DiskEntry entry;
  entry.kind = DiskKind::directory;
  return entry;
}

}  // namespace cudart_doctor::test
