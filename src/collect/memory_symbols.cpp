#include "cudart_doctor/collect/memory_symbols.hpp"

#include <elf.h>

#include "cudart_doctor/collect/memory_reading.hpp"

namespace cudart_doctor {
namespace {

constexpr std::uint64_t kMaxDynamic = 4096;
constexpr std::uint32_t kMaxSymbols = 1u << 20;
constexpr std::uint32_t kMaxChain = 4096;

struct Tables {
  std::uint64_t strings = 0;
  std::uint64_t symbols = 0;
  std::uint64_t gnu_hash = 0;
  std::uint64_t hash = 0;
};

Tables read_tables(ByteSource& memory, const LinkedModule& module) {
  Tables tables;
  // glibc adds the load bias to these entries in place, musl (and the vDSO) leaves offsets.
  const auto absolute = [&](std::uint64_t value) {
    return value < module.load_bias ? value + module.load_bias : value;
  };
  for (std::uint64_t i = 0; i < kMaxDynamic; ++i) {
    auto entry = read_value<Elf64_Dyn>(memory, module.dynamic_address + i * sizeof(Elf64_Dyn));
    if (!entry || entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_STRTAB) tables.strings = absolute(entry->d_un.d_ptr);
    if (entry->d_tag == DT_SYMTAB) tables.symbols = absolute(entry->d_un.d_ptr);
    if (entry->d_tag == DT_GNU_HASH) tables.gnu_hash = absolute(entry->d_un.d_ptr);
    if (entry->d_tag == DT_HASH) tables.hash = absolute(entry->d_un.d_ptr);
  }
  return tables;
}

std::uint32_t gnu_hash_of(std::string_view name) {
  std::uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  return hash;
}

std::uint32_t sysv_hash_of(std::string_view name) {
  std::uint32_t hash = 0;
  for (const char c : name) {
    hash = (hash << 4) + static_cast<unsigned char>(c);
    const std::uint32_t high = hash & 0xf0000000u;
    hash = (hash ^ (high >> 24)) & ~high;
  }
  return hash;
}

std::optional<std::uint64_t> value_if_named(ByteSource& memory, const Tables& tables,
                                            std::uint32_t index, std::string_view name) {
  auto symbol = read_value<Elf64_Sym>(memory, tables.symbols + index * sizeof(Elf64_Sym));
  if (!symbol || symbol->st_shndx == SHN_UNDEF || symbol->st_value == 0) return std::nullopt;
  auto text = read_c_string(memory, tables.strings + symbol->st_name, name.size());
  if (!text || *text != name) return std::nullopt;
  return symbol->st_value;
}

std::optional<std::uint64_t> by_gnu_hash(ByteSource& memory, const Tables& tables,
                                         std::string_view name) {
  struct Header {
    std::uint32_t buckets, first_symbol, bloom_words, bloom_shift;
  };
  auto header = read_value<Header>(memory, tables.gnu_hash);
  if (!header || header->buckets == 0 || header->buckets > kMaxSymbols ||
      header->bloom_words > kMaxSymbols) {
    return std::nullopt;
  }
  const std::uint32_t hash = gnu_hash_of(name);
  const std::uint64_t buckets =
      tables.gnu_hash + sizeof(Header) + std::uint64_t{header->bloom_words} * 8;
  const std::uint64_t chains = buckets + std::uint64_t{header->buckets} * 4;
  auto index =
      read_value<std::uint32_t>(memory, buckets + std::uint64_t{hash % header->buckets} * 4);
  if (!index || *index < header->first_symbol) return std::nullopt;
  for (std::uint32_t i = 0; i < kMaxChain; ++i) {
    const std::uint64_t position = std::uint64_t{*index} - header->first_symbol + i;
    auto link = read_value<std::uint32_t>(memory, chains + position * 4);
    if (!link) return std::nullopt;
    if ((*link | 1u) == (hash | 1u)) {
      if (auto value = value_if_named(memory, tables, *index + i, name)) return value;
    }
    if ((*link & 1u) != 0) break;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> by_sysv_hash(ByteSource& memory, const Tables& tables,
                                          std::string_view name) {
  struct Header {
    std::uint32_t buckets, chains;
  };
  auto header = read_value<Header>(memory, tables.hash);
  if (!header || header->buckets == 0 || header->buckets > kMaxSymbols) return std::nullopt;
  const std::uint64_t buckets = tables.hash + sizeof(Header);
  const std::uint64_t chains = buckets + std::uint64_t{header->buckets} * 4;
  auto index = read_value<std::uint32_t>(
      memory, buckets + std::uint64_t{sysv_hash_of(name) % header->buckets} * 4);
  for (std::uint32_t i = 0; i < kMaxChain && index && *index != 0; ++i) {
    if (auto value = value_if_named(memory, tables, *index, name)) return value;
    index = read_value<std::uint32_t>(memory, chains + std::uint64_t{*index} * 4);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> find_symbol(ByteSource& memory, const LinkedModule& module,
                                         std::string_view name) {
  if (module.dynamic_address == 0) return std::nullopt;
  const Tables tables = read_tables(memory, module);
  if (tables.strings == 0 || tables.symbols == 0) return std::nullopt;
  std::optional<std::uint64_t> value;
  if (tables.gnu_hash != 0) {
    value = by_gnu_hash(memory, tables, name);
  } else if (tables.hash != 0) {
    value = by_sysv_hash(memory, tables, name);
  }
  if (!value) return std::nullopt;
  return module.load_bias + *value;
}

}  // namespace cudart_doctor
