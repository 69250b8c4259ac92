#include "elf_sections.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "cudart_doctor/base/checked.hpp"
#include "elf_notes.hpp"

namespace cudart_doctor::elf {
namespace {

constexpr std::string_view kCompatSection = ".note.cuda.fwd_compatibility";
constexpr std::string_view kBuildIdSection = ".note.gnu.build-id";

struct Section {
  std::uint32_t name = 0;
  std::uint32_t type = 0;
  std::uint64_t flags = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint32_t link = 0;
  std::uint64_t alignment = 0;
};

Section load_section(std::span<const std::byte> raw) {
  return {load<std::uint32_t>(raw, 0),  load<std::uint32_t>(raw, 4),  load<std::uint64_t>(raw, 8),
          load<std::uint64_t>(raw, 24), load<std::uint64_t>(raw, 32), load<std::uint32_t>(raw, 40),
          load<std::uint64_t>(raw, 48)};
}

struct SectionTable {
  std::vector<std::byte> headers_room;
  std::vector<std::byte> names_room;
  std::span<const std::byte> headers;
  std::span<const std::byte> names;

  [[nodiscard]] std::size_t size() const { return headers.size() / kSectionHeaderSize; }
  [[nodiscard]] Section section(std::size_t index) const {
    return load_section(headers.subspan(index * kSectionHeaderSize, kSectionHeaderSize));
  }
  [[nodiscard]] std::string_view name(const Section& section) const {
    if (section.name >= names.size()) return {};
    const std::string_view rest = as_text(names.subspan(section.name));
    return rest.substr(0, rest.find('\0'));
  }
};

/// Reads headers and names; nothing, with the reason in `damage`, where they do not hold together.
std::optional<SectionTable> read_table(ImageBytes& image, std::vector<std::string>& damage) {
  const Header& header = image.header();
  const auto refuse = [&](const char* reason) {
    damage.emplace_back(reason);
    return std::nullopt;
  };
  if (header.section_size != kSectionHeaderSize) {
    return refuse("section headers are of an odd size");
  }
  std::array<std::byte, kSectionHeaderSize> raw_first{};
  if (image.read(header.section_offset, raw_first) != raw_first.size()) {
    return refuse("section headers lie past the end");
  }
  // Numbers too large for the ELF header stand in the first section header.
  constexpr std::uint16_t kInFirstSection = 0xffff;  // SHN_XINDEX
  const Section first = load_section(raw_first);
  const std::uint64_t count = header.section_count != 0 ? header.section_count : first.size;
  const std::uint64_t names =
      header.section_names == kInFirstSection ? first.link : header.section_names;
  if (count > kMaxSections) return refuse("claims more than 65536 sections");
  if (names >= count) return refuse("section names are not among the sections");
  const auto total = image.source_size();
  if (total && !fits(header.section_offset, count * kSectionHeaderSize, *total)) {
    return refuse("section headers lie past the end");
  }
  SectionTable table;
  table.headers =
      image.bytes(header.section_offset, count * kSectionHeaderSize, table.headers_room);
  if (table.headers.size() != count * kSectionHeaderSize) {
    return refuse("section headers lie past the end");
  }
  const Section strings = table.section(names);
  if (strings.size > kMaxSectionNames) return refuse("section names are larger than 1 MiB");
  table.names = image.bytes(strings.offset, strings.size, table.names_room);
  if (table.names.size() != strings.size) {
    return refuse("section names lie past the end");
  }
  return table;
}

/// Bytes of a section that the loader maps from the file.
std::uint64_t loaded_size(const Section& section) {
  constexpr std::uint32_t kNoBits = 8;
  constexpr std::uint64_t kAllocated = 2;
  return section.type != kNoBits && (section.flags & kAllocated) != 0 ? section.size : 0;
}

/// Keeps where a compiler puts functions and string constants.
void add_part(const Section& section, std::string_view name, ContentParts& parts) {
  constexpr std::uint32_t kProgBits = 1;
  constexpr std::uint64_t kExecutable = 4;
  if (section.type != kProgBits) return;
  const FileRange range{section.offset, saturating_add(section.offset, section.size)};
  if ((section.flags & kExecutable) != 0) parts.code.push_back(range);
  if (name.starts_with(".rodata") || name.starts_with(".lrodata")) parts.constants.push_back(range);
}

bool is_device_code(std::string_view name) {
  return name.starts_with(".nv_fatbin") || name.starts_with(".nvFatBinSegment") ||
         name.starts_with("__nv_relfatbin");
}

Notes read_note_section(ImageBytes& image, const Section& section,
                        std::vector<std::string>& damage) {
  Notes notes;
  if (section.size > kMaxNoteBytes) {
    damage.emplace_back("notes are larger than 64 KiB");
    return notes;
  }
  std::vector<std::byte> room;
  const auto bytes = image.bytes(section.offset, section.size, room);
  if (bytes.size() != section.size) {
    damage.emplace_back("notes lie past the end");
    return notes;
  }
  const bool whole = parse_notes(bytes, section.alignment, notes);
  if (!whole && !notes.compat_text && !notes.build_id) damage.emplace_back("a note is cut");
  return notes;
}

}  // namespace

SectionFacts read_sections(ImageBytes& image, std::vector<std::string>& damage) {
  SectionFacts facts;
  if (image.is_memory() || image.header().section_offset == 0) return facts;
  const auto table = read_table(image, damage);
  if (!table) return facts;
  facts.device_code = false;
  for (std::size_t i = 0; i < table->size(); ++i) {
    const Section section = table->section(i);
    const std::string_view name = table->name(section);
    if (is_device_code(name)) facts.device_code = true;
    facts.loaded_bytes = saturating_add(facts.loaded_bytes, loaded_size(section));
    add_part(section, name, facts.parts);
    if (name == kCompatSection && !facts.compat_text) {
      facts.compat_text = read_note_section(image, section, damage).compat_text;
    } else if (name == kBuildIdSection && !facts.build_id) {
      facts.build_id = read_note_section(image, section, damage).build_id;
    }
  }
  return facts;
}

}  // namespace cudart_doctor::elf
