#include "elf_dynamic.hpp"

#include <algorithm>

namespace cudart_doctor::elf {
namespace {

void take_entry(const ImageBytes& image, Dynamic& dynamic, std::uint64_t tag, std::uint64_t value) {
  const auto address = [&] { return image.dynamic_address(value); };
  switch (tag) {
    case kDtNeeded: dynamic.needed.push_back(value); break;
    case kDtHash: dynamic.sysv_hash = address(); break;
    case kDtStrtab: dynamic.strings = address(); break;
    case kDtSymtab: dynamic.symbols = address(); break;
    case kDtPltrelsz: dynamic.jump_relocations_size = value; break;
    case kDtRela: dynamic.relocations = address(); break;
    case kDtRelasz: dynamic.relocations_size = value; break;
    case kDtPltrel: dynamic.jump_relocations_have_addends = value == kDtRela; break;
    case kDtJmprel: dynamic.jump_relocations = address(); break;
    case kDtRelacount: dynamic.relative_count = value; break;
    case kDtStrsz: dynamic.strings_size = value; break;
    case kDtSoname: dynamic.soname = value; break;
    case kDtRpath: dynamic.rpath = value; break;
    case kDtSymbolic: dynamic.symbolic = true; break;
    case kDtRunpath: dynamic.runpath = value; break;
    case kDtFlags: dynamic.symbolic = dynamic.symbolic || (value & kDfSymbolic) != 0; break;
    case kDtGnuHash: dynamic.gnu_hash = address(); break;
    case kDtVersym: dynamic.versions = address(); break;
    case kDtVerdef: dynamic.definitions = address(); break;
    case kDtVerdefnum: dynamic.definition_count = value; break;
    case kDtVerneed: dynamic.needs = address(); break;
    case kDtVerneednum: dynamic.need_count = value; break;
    default: break;
  }
}

/// Where the table lies: by address like the loader, by file offset where no PT_LOAD covers it.
std::optional<Extent> locate_dynamic(const ImageBytes& image, const ProgramHeader& segment) {
  auto extent = image.locate(segment.vaddr);
  const std::uint64_t size = image.is_memory() ? segment.memsz : segment.filesz;
  if (!extent) extent = image.locate(segment);
  if (extent) extent->available = std::min(extent->available, size);
  return extent;
}

}  // namespace

Dynamic read_dynamic(ImageBytes& image, std::vector<std::string>& damage) {
  Dynamic dynamic;
  const auto& segments = image.segments();
  const auto segment = std::find_if(segments.begin(), segments.end(), [](const auto& candidate) {
    return candidate.type == kPtDynamic;
  });
  if (segment == segments.end()) return dynamic;
  dynamic.present = true;
  const auto extent = locate_dynamic(image, *segment);
  if (!extent) {
    damage.emplace_back("dynamic section lies outside the loaded segments");
    return dynamic;
  }
  const std::uint64_t count = std::min(extent->available / kDynamicSize, kMaxDynamicEntries);
  std::vector<std::byte> room;
  const auto raw = image.bytes(extent->offset, count * kDynamicSize, room);
  for (std::size_t at = 0; at + kDynamicSize <= raw.size(); at += kDynamicSize) {
    const auto tag = load<std::uint64_t>(raw, at);
    if (tag == kDtNull) return dynamic;
    take_entry(image, dynamic, tag, load<std::uint64_t>(raw, at + 8));
  }
  if (raw.size() < count * kDynamicSize) {
    damage.emplace_back("dynamic section lies past the end");
  } else if (count == kMaxDynamicEntries) {
    damage.emplace_back("dynamic section has more than 4096 entries");
  } else {
    damage.emplace_back("dynamic section has no end mark");
  }
  return dynamic;
}

std::optional<std::string> read_dynamic_text(ImageBytes& image, const Dynamic& dynamic,
                                             std::uint64_t offset) {
  if (!dynamic.strings || offset >= dynamic.strings_size) return std::nullopt;
  if (offset > UINT64_MAX - *dynamic.strings) return std::nullopt;
  const auto extent = image.locate(*dynamic.strings + offset);
  if (!extent) return std::nullopt;
  return image.read_text(extent->offset,
                         std::min(extent->available, dynamic.strings_size - offset));
}

}  // namespace cudart_doctor::elf
