#include "cudart_doctor/collect/elf_look.hpp"

#include <array>
#include <cstring>

#include "cudart_doctor/formats/content_scan.hpp"
#include "cudart_doctor/formats/elf.hpp"
#include "cudart_doctor/sys/block_cache.hpp"
#include "cudart_doctor/sys/process_memory.hpp"

namespace cudart_doctor {
namespace {

// Enough for the headers and hash table of most libraries; larger blocks cost more to copy than
// the calls that they save.
constexpr std::size_t kBlock = 16u << 10;

Fact<ElfFacts> no_elf(Result<std::size_t> count) {
  if (!count) return Fact<ElfFacts>::unknown("could not be read: " + count.error().message);
  return Fact<ElfFacts>::unknown(*count == 0 ? "an empty file" : "no ELF file");
}

ElfLook look_into(ByteSource& source, ElfImage image, std::uint64_t base, std::string_view path,
                  const CaptureRules& rules) {
  ElfLook look;
  std::array<std::byte, 4> magic = {};
  auto count = source.read_at(0, magic);
  look.is_elf = count && *count == magic.size() && std::memcmp(magic.data(), "\177ELF", 4) == 0;
  if (!look.is_elf) {
    look.elf = no_elf(std::move(count));
    return look;
  }
  auto reader = ElfReader::open(source, image, base);
  if (!reader) {
    look.elf = Fact<ElfFacts>::unknown(reader.error().message);
    return look;
  }
  ElfFacts facts = reader->read_facts();
  if (rules.plan) look.plan = rules.plan(facts, path);
  if (look.plan.walk_symbols) reader->walk_symbols(facts);
  if (look.plan.search_contents && image == ElfImage::memory) {
    look.content = Fact<ContentScan>::unknown(
        "only the loaded image could be read, and contents are searched in files only");
  } else if (look.plan.search_contents) {
    auto scan = scan_contents(source, reader->program_headers(), facts.machine);
    look.content = scan ? Fact<ContentScan>::known(std::move(*scan))
                        : Fact<ContentScan>::unknown(scan.error().message);
  }
  look.elf = Fact<ElfFacts>::known(std::move(facts));
  return look;
}

}  // namespace

ElfLook look_into_file(ByteSource& file, std::string_view path, const CaptureRules& rules) {
  BlockCache cache(file, kBlock);
  return look_into(cache, ElfImage::file, 0, path, rules);
}

ElfLook look_into_image(ByteSource& memory, std::uint64_t base, std::string_view path,
                        const CaptureRules& rules) {
  ShiftedSource image(memory, base);
  BlockCache cache(image, kBlock);
  return look_into(cache, ElfImage::memory, base, path, rules);
}

}  // namespace cudart_doctor
