#include "oracle/libelf_facts.hpp"

#include <gelf.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

#include "cudart_doctor/formats/elf.hpp"

namespace cudart_doctor::oracle {
namespace {

struct ElfEnd {
  void operator()(Elf* elf) const { elf_end(elf); }
};

std::string text_at(Elf* elf, std::size_t section, std::size_t offset) {
  const char* const text = elf_strptr(elf, section, offset);
  return text == nullptr ? std::string() : std::string(text);
}

void take_dynamic(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, LibelfFacts& facts) {
  Elf_Data* const data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return;
  for (int i = 0; i < static_cast<int>(header.sh_size / header.sh_entsize); ++i) {
    GElf_Dyn entry;
    if (gelf_getdyn(data, i, &entry) == nullptr || entry.d_tag == DT_NULL) return;
    const auto text = [&] { return text_at(elf, header.sh_link, entry.d_un.d_val); };
    if (entry.d_tag == DT_NEEDED) facts.needed.push_back(text());
    if (entry.d_tag == DT_SONAME) facts.soname = text();
    if (entry.d_tag == DT_RPATH) facts.rpath = text();
    if (entry.d_tag == DT_RUNPATH) facts.runpath = text();
  }
}

void take_symbols(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, LibelfFacts& facts) {
  Elf_Data* const data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return;
  for (int i = 1; i < static_cast<int>(header.sh_size / header.sh_entsize); ++i) {
    GElf_Sym symbol;
    if (gelf_getsym(data, i, &symbol) == nullptr) return;
    if (GELF_ST_BIND(symbol.st_info) == STB_LOCAL) continue;
    const bool defined = symbol.st_shndx != SHN_UNDEF;
    if (defined) ++facts.defined_symbols;
    const std::string name = text_at(elf, header.sh_link, symbol.st_name);
    if (is_cuda_api_name(name)) (defined ? facts.exports : facts.undefined).push_back(name);
  }
}

bool stores_address(GElf_Half machine, const GElf_Rela& relocation) {
  const auto type = GELF_R_TYPE(relocation.r_info);
  const bool plain = relocation.r_addend == 0;
  if (machine == EM_X86_64) {
    return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT ||
           (type == R_X86_64_64 && plain);
  }
  return machine == EM_AARCH64 && (type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT ||
                                   (type == R_AARCH64_ABS64 && plain));
}

/// One section of dynamic relocations, into places by address.
void take_slots(Elf* elf, GElf_Half machine, Elf_Scn* section,
                std::map<std::uint64_t, std::string>& slots) {
  GElf_Shdr header;
  GElf_Shdr symbols_header;
  if (gelf_getshdr(section, &header) == nullptr || header.sh_entsize == 0) return;
  Elf_Scn* const symbols = elf_getscn(elf, header.sh_link);
  if (symbols == nullptr || gelf_getshdr(symbols, &symbols_header) == nullptr) return;
  Elf_Data* const data = elf_getdata(section, nullptr);
  Elf_Data* const table = elf_getdata(symbols, nullptr);
  if (data == nullptr || table == nullptr) return;
  for (int i = 0; i < static_cast<int>(header.sh_size / header.sh_entsize); ++i) {
    GElf_Rela relocation;
    GElf_Sym symbol;
    if (gelf_getrela(data, i, &relocation) == nullptr) return;
    if (!stores_address(machine, relocation)) continue;
    const auto index = static_cast<int>(GELF_R_SYM(relocation.r_info));
    if (gelf_getsym(table, index, &symbol) == nullptr || symbol.st_shndx != SHN_UNDEF) continue;
    const std::string name = text_at(elf, symbols_header.sh_link, symbol.st_name);
    if (is_cuda_runtime_name(name)) slots.emplace(relocation.r_offset, name);
  }
}

void take_definitions(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, LibelfFacts& facts) {
  Elf_Data* const data = elf_getdata(section, nullptr);
  int offset = 0;
  for (GElf_Word i = 0; data != nullptr && i < header.sh_info; ++i) {
    GElf_Verdef definition;
    GElf_Verdaux name;
    if (gelf_getverdef(data, offset, &definition) == nullptr) return;
    if (gelf_getverdaux(data, offset + static_cast<int>(definition.vd_aux), &name) == nullptr)
      return;
    facts.definitions.push_back(text_at(elf, header.sh_link, name.vda_name));
    offset += static_cast<int>(definition.vd_next);
  }
}

void take_notes(Elf_Scn* section, LibelfFacts& facts) {
  Elf_Data* const data = elf_getdata(section, nullptr);
  std::size_t offset = 0;
  while (data != nullptr && facts.build_id.empty()) {
    GElf_Nhdr note;
    std::size_t name = 0;
    std::size_t text = 0;
    offset = gelf_getnote(data, offset, &note, &name, &text);
    if (offset == 0) return;
    const auto* const bytes = static_cast<const unsigned char*>(data->d_buf);
    if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4) continue;
    if (std::memcmp(bytes + name, "GNU", 4) != 0) continue;
    for (std::size_t i = 0; i < note.n_descsz; ++i) {
      facts.build_id += "0123456789abcdef"[bytes[text + i] >> 4U];
      facts.build_id += "0123456789abcdef"[bytes[text + i] & 15U];
    }
  }
}

}  // namespace

std::optional<LibelfFacts> read_with_libelf(int fd) {
  elf_version(EV_CURRENT);
  const std::unique_ptr<Elf, ElfEnd> elf(elf_begin(fd, ELF_C_READ, nullptr));
  if (!elf || elf_kind(elf.get()) != ELF_K_ELF || gelf_getclass(elf.get()) != ELFCLASS64) {
    return std::nullopt;
  }
  GElf_Ehdr header;
  if (gelf_getehdr(elf.get(), &header) == nullptr || header.e_ident[EI_DATA] != ELFDATA2LSB) {
    return std::nullopt;
  }
  LibelfFacts facts;
  bool has_dynamic = false;
  Elf_Scn* section = nullptr;
  std::map<std::uint64_t, std::string> slots;
  while ((section = elf_nextscn(elf.get(), section)) != nullptr) {
    GElf_Shdr shdr;
    if (gelf_getshdr(section, &shdr) == nullptr) return std::nullopt;
    if (shdr.sh_type == SHT_DYNAMIC) {
      has_dynamic = true;
      take_dynamic(elf.get(), section, shdr, facts);
    }
    if (shdr.sh_type == SHT_DYNSYM) take_symbols(elf.get(), section, shdr, facts);
    if (shdr.sh_type == SHT_GNU_verdef) take_definitions(elf.get(), section, shdr, facts);
    if (shdr.sh_type == SHT_NOTE) take_notes(section, facts);
    if (shdr.sh_type == SHT_RELA && (shdr.sh_flags & SHF_ALLOC) != 0) {
      take_slots(elf.get(), header.e_machine, section, slots);
    }
  }
  if (!has_dynamic) return std::nullopt;
  for (const auto& [place, name] : slots) {
    facts.slots.push_back(std::to_string(place) + " " + name);
  }
  std::sort(facts.exports.begin(), facts.exports.end());
  facts.exports.erase(std::unique(facts.exports.begin(), facts.exports.end()), facts.exports.end());
  std::sort(facts.undefined.begin(), facts.undefined.end());
  return facts;
}

}  // namespace cudart_doctor::oracle
