#include "elf_versions.hpp"

#include <array>

#include "cudart_doctor/base/checked.hpp"

namespace cudart_doctor::elf {
namespace {

constexpr std::size_t kDefinitionSize = 20;     // Elf64_Verdef
constexpr std::size_t kDefinitionNameSize = 8;  // Elf64_Verdaux
constexpr std::size_t kNeedSize = 16;           // Elf64_Verneed
constexpr std::size_t kNeedVersionSize = 16;    // Elf64_Vernaux

/// Walks both lists and counts every entry that it reads.
class VersionReader {
 public:
  VersionReader(ImageBytes& image, const Dynamic& dynamic, std::vector<std::string>& damage)
      : image_(image), dynamic_(dynamic), damage_(damage) {}

  void read_definitions(VersionTables& tables);
  void read_needs(VersionTables& tables);

 private:
  bool take(std::uint64_t address, std::span<std::byte> raw, const char* list);
  std::string text(std::uint64_t offset, const char* list);
  void read_needed_versions(std::uint64_t address, unsigned count, VersionTables& tables);

  ImageBytes& image_;
  const Dynamic& dynamic_;
  std::vector<std::string>& damage_;
  std::uint32_t entries_ = 0;
};

/// Reads one entry; false, with the reason in `damage_`, ends the list.
bool VersionReader::take(std::uint64_t address, std::span<std::byte> raw, const char* list) {
  if (++entries_ > kMaxVersionEntries) {
    damage_.push_back(std::string(list) + " have more than 8192 entries");
    return false;
  }
  if (image_.read_address(address, raw)) return true;
  damage_.push_back(std::string(list) + " lie past the end");
  return false;
}

std::string VersionReader::text(std::uint64_t offset, const char* list) {
  auto name = read_dynamic_text(image_, dynamic_, offset);
  if (!name) damage_.push_back(std::string("name in ") + list + " lies outside the string table");
  return name.value_or(std::string());
}

void VersionReader::read_definitions(VersionTables& tables) {
  constexpr const char* kList = "version definitions";
  if (!dynamic_.definitions) return;
  std::uint64_t address = *dynamic_.definitions;
  for (std::uint64_t i = 0; i < dynamic_.definition_count; ++i) {
    std::array<std::byte, kDefinitionSize> raw{};
    if (!take(address, raw, kList)) return;
    const auto flags = load<std::uint16_t>(raw, 2);
    const auto names = load<std::uint16_t>(raw, 6);
    const auto next = load<std::uint32_t>(raw, 16);
    if (names > 0) {  // The first name is the node, the others its parents.
      std::array<std::byte, kDefinitionNameSize> name{};
      if (!take(saturating_add(address, load<std::uint32_t>(raw, 12)), name, kList)) return;
      std::string node = text(load<std::uint32_t>(name, 0), kList);
      if (node.empty()) return;
      if ((flags & kVerFlagBase) != 0) {
        tables.base = std::move(node);
      } else {
        const auto index = static_cast<std::uint16_t>(load<std::uint16_t>(raw, 4) & kVersymIndex);
        tables.defined_by_index.emplace(index, node);
        tables.definitions.push_back(std::move(node));
      }
    }
    if (next == 0) return;
    address = saturating_add(address, next);
  }
}

void VersionReader::read_needed_versions(std::uint64_t address, unsigned count,
                                         VersionTables& tables) {
  constexpr const char* kList = "version needs";
  for (unsigned i = 0; i < count; ++i) {
    std::array<std::byte, kNeedVersionSize> raw{};
    if (!take(address, raw, kList)) return;
    const auto index = static_cast<std::uint16_t>(load<std::uint16_t>(raw, 6) & kVersymIndex);
    const auto next = load<std::uint32_t>(raw, 12);
    std::string node = text(load<std::uint32_t>(raw, 8), kList);
    if (node.empty()) return;
    tables.needed_by_index.emplace(index, node);
    tables.needs.back().versions.push_back(std::move(node));
    if (next == 0) return;
    address = saturating_add(address, next);
  }
}

void VersionReader::read_needs(VersionTables& tables) {
  constexpr const char* kList = "version needs";
  if (!dynamic_.needs) return;
  std::uint64_t address = *dynamic_.needs;
  for (std::uint64_t i = 0; i < dynamic_.need_count; ++i) {
    std::array<std::byte, kNeedSize> raw{};
    if (!take(address, raw, kList)) return;
    const auto versions = load<std::uint16_t>(raw, 2);
    const auto first = load<std::uint32_t>(raw, 8);
    const auto next = load<std::uint32_t>(raw, 12);
    tables.needs.push_back({text(load<std::uint32_t>(raw, 4), kList), {}});
    read_needed_versions(saturating_add(address, first), versions, tables);
    if (entries_ > kMaxVersionEntries || next == 0) return;
    address = saturating_add(address, next);
  }
}

}  // namespace

VersionTables read_versions(ImageBytes& image, const Dynamic& dynamic,
                            std::vector<std::string>& damage) {
  VersionTables tables;
  VersionReader reader(image, dynamic, damage);
  reader.read_definitions(tables);
  reader.read_needs(tables);
  return tables;
}

}  // namespace cudart_doctor::elf
