#include "cudart_doctor/collect/elf_look.hpp"

#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "cudart_doctor/formats/content_scan.hpp"
#include "cudart_doctor/formats/elf.hpp"
#include "cudart_doctor/sys/process_memory.hpp"

namespace cudart_doctor {
namespace {

/// Why an object gave no reader: what it is instead, or what is wrong with it.
ElfLook explain_failure(ByteSource& source, const Error& error) {
  ElfLook look;
  std::array<std::byte, 4> magic = {};
  auto count = source.read_at(0, magic);
  look.is_elf = count && *count == magic.size() && std::memcmp(magic.data(), "\177ELF", 4) == 0;
  if (look.is_elf) {
    look.elf = Fact<ElfFacts>::unknown(error.message);
  } else if (!count) {
    look.elf = Fact<ElfFacts>::unknown("could not be read: " + count.error().message);
  } else {
    look.is_empty = *count == 0;
    look.elf = Fact<ElfFacts>::unknown(look.is_empty ? "an empty file" : "no ELF file");
  }
  return look;
}

/// Up to here an object is searched whole; of a larger one, constants and, where these speak for a
/// runtime, code.
constexpr std::uint64_t kSearchedWhole = 4U << 20U;

Fact<ContentScan> search(ByteSource& source, const ElfReader& reader, const ElfFacts& facts) {
  const bool is_large = facts.file_size > kSearchedWhole;
  auto scan = scan_contents(source, reader.program_headers(), facts.machine,
                            is_large ? reader.content_parts() : ContentParts());
  return scan ? Fact<ContentScan>::known(std::move(*scan))
              : Fact<ContentScan>::unknown(scan.error().message);
}

Fact<std::vector<SlotPlace>> find_slots(ElfReader& reader) {
  auto slots = reader.read_slots();
  if (!slots) return Fact<std::vector<SlotPlace>>::unknown(slots.error().message);
  if (slots->empty()) return {};
  return Fact<std::vector<SlotPlace>>::known(std::move(*slots));
}

ElfLook look_into(ByteSource& source, ElfImage image, std::uint64_t base, std::string_view path,
                  const CaptureRules& rules) {
  auto reader = ElfReader::open(source, image, base);
  if (!reader) return explain_failure(source, reader.error());
  ElfLook look;
  look.is_elf = true;
  ElfFacts facts = reader->read_facts();
  if (rules.plan) look.plan = rules.plan(facts, path);
  if (look.plan.walk_symbols) {
    reader->walk_symbols(facts);
    look.slots = find_slots(*reader);
  }
  if (look.plan.search_contents && image == ElfImage::memory) {
    look.content = Fact<ContentScan>::unknown(
        "only the loaded image could be read, and contents are searched in files only");
  } else if (look.plan.search_contents) {
    look.content = search(source, *reader, facts);
  }
  look.elf = Fact<ElfFacts>::known(std::move(facts));
  return look;
}

}  // namespace

ElfLook look_into_file(ByteSource& file, std::string_view path, const CaptureRules& rules) {
  return look_into(file, ElfImage::file, 0, path, rules);
}

ElfLook look_into_image(ByteSource& memory, std::uint64_t base, std::string_view path,
                        const CaptureRules& rules) {
  ShiftedSource image(memory, base);
  return look_into(image, ElfImage::memory, base, path, rules);
}

}  // namespace cudart_doctor
