// Any bytes as an ELF file and as a loaded image: headers, symbols, contents.
#include <cstdint>
#include <span>

#include "cudart_doctor/base/byte_source.hpp"
#include "cudart_doctor/formats/content_scan.hpp"
#include "cudart_doctor/formats/elf.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cudart_doctor;
  for (const ElfImage image : {ElfImage::file, ElfImage::memory}) {
    MemorySource source(std::as_bytes(std::span(data, size)));
    auto reader = ElfReader::open(source, image, image == ElfImage::file ? 0 : 0x7f0000000000);
    if (!reader) continue;
    ElfFacts facts = reader->read_facts();
    reader->walk_symbols(facts);
    (void)reader->function_at(4096);
    (void)reader->read_slots();
    (void)scan_contents(source, reader->program_headers(), facts.machine,
                        reader->content_parts());
  }
  return 0;
}
