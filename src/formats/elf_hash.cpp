#include "elf_hash.hpp"

#include <algorithm>
#include <array>

#include "cudart_doctor/base/checked.hpp"

namespace cudart_doctor::elf {
namespace {

constexpr std::size_t kWord = 4;
constexpr std::size_t kBloomWord = 8;
/// A chain in a sound table has a few links; a longer one is a lie or a cycle.
constexpr std::uint32_t kMaxChain = 4096;

std::optional<std::uint32_t> read_word(ImageBytes& image, std::uint64_t table,
                                       std::uint64_t index) {
  std::array<std::byte, kWord> raw{};
  if (index > UINT32_MAX) return std::nullopt;
  if (!image.read_address(saturating_add(table, index * kWord), raw)) return std::nullopt;
  return load<std::uint32_t>(raw, 0);
}

/// Header of DT_GNU_HASH and the addresses of its three arrays.
struct GnuTable {
  std::uint32_t bucket_count = 0;
  std::uint32_t first_symbol = 0;  ///< Symbols below it are not in the table.
  std::uint32_t bloom_count = 0;
  std::uint32_t bloom_shift = 0;
  std::uint64_t bloom = 0;
  std::uint64_t buckets = 0;
  std::uint64_t chains = 0;  ///< One word a symbol, from first_symbol on.
};

std::optional<GnuTable> read_gnu_table(ImageBytes& image, std::uint64_t address) {
  std::array<std::byte, 16> raw{};
  if (!image.read_address(address, raw)) return std::nullopt;
  GnuTable table;
  table.bucket_count = load<std::uint32_t>(raw, 0);
  table.first_symbol = load<std::uint32_t>(raw, 4);
  table.bloom_count = load<std::uint32_t>(raw, 8);
  table.bloom_shift = load<std::uint32_t>(raw, 12);
  table.bloom = saturating_add(address, raw.size());
  table.buckets = saturating_add(table.bloom, std::uint64_t{table.bloom_count} * kBloomWord);
  table.chains = saturating_add(table.buckets, std::uint64_t{table.bucket_count} * kWord);
  return table;
}

bool may_hold(ImageBytes& image, const GnuTable& table, std::uint32_t hash) {
  if (table.bloom_count == 0) return true;
  std::array<std::byte, kBloomWord> raw{};
  const std::uint64_t index = (hash / 64) % table.bloom_count;
  if (!image.read_address(saturating_add(table.bloom, index * kBloomWord), raw)) return false;
  const auto word = load<std::uint64_t>(raw, 0);
  const std::uint32_t second = table.bloom_shift < 32 ? hash >> table.bloom_shift : 0;
  return ((word >> (hash % 64)) & (word >> (second % 64)) & 1U) != 0;
}

/// The symbol at `index` when it is defined and so named.
std::optional<Symbol> match(ImageBytes& image, const Dynamic& dynamic, std::uint64_t index,
                            std::string_view name) {
  const auto symbol = read_symbol(image, dynamic, index);
  if (!symbol || !symbol->is_defined()) return std::nullopt;
  if (read_dynamic_text(image, dynamic, symbol->name) != name) return std::nullopt;
  return symbol;
}

std::optional<Symbol> find_gnu(ImageBytes& image, const Dynamic& dynamic, const GnuTable& table,
                               const HashedName& name) {
  if (table.bucket_count == 0 || !may_hold(image, table, name.gnu)) return std::nullopt;
  const auto first = read_word(image, table.buckets, name.gnu % table.bucket_count);
  if (!first || *first < table.first_symbol) return std::nullopt;
  for (std::uint32_t i = 0; i < kMaxChain; ++i) {
    const std::uint64_t index = std::uint64_t{*first} + i;
    const auto hash = read_word(image, table.chains, index - table.first_symbol);
    if (!hash) return std::nullopt;
    if ((*hash | 1U) == (name.gnu | 1U)) {
      if (auto symbol = match(image, dynamic, index, name.text)) return symbol;
    }
    if ((*hash & 1U) != 0) return std::nullopt;  // The low bit ends a chain.
  }
  return std::nullopt;
}

std::optional<Symbol> find_sysv(ImageBytes& image, const Dynamic& dynamic, const HashedName& name) {
  const std::uint64_t table = *dynamic.sysv_hash;
  const auto bucket_count = read_word(image, table, 0);
  const auto chain_count = read_word(image, table, 1);
  if (!bucket_count || !chain_count || *bucket_count == 0) return std::nullopt;
  const std::uint64_t chains = std::uint64_t{2} + *bucket_count;
  auto index = read_word(image, table, std::uint64_t{2} + name.sysv % *bucket_count);
  for (std::uint32_t i = 0; i < kMaxChain; ++i) {
    if (!index || *index == 0 || *index >= *chain_count) return std::nullopt;
    if (auto symbol = match(image, dynamic, *index, name.text)) return symbol;
    index = read_word(image, table, chains + *index);
  }
  return std::nullopt;
}

/// The largest bucket, 0 where all are empty; nothing where they lie outside the object.
std::optional<std::uint32_t> largest_bucket(ImageBytes& image, const GnuTable& table) {
  constexpr std::uint64_t kStep = 4096;
  std::vector<std::byte> raw;
  std::uint32_t largest = 0;
  for (std::uint64_t done = 0; done < table.bucket_count; done += kStep) {
    raw.resize(std::min(kStep, table.bucket_count - done) * kWord);
    if (!image.read_address(saturating_add(table.buckets, done * kWord), raw)) return std::nullopt;
    for (std::size_t at = 0; at < raw.size(); at += kWord) {
      largest = std::max(largest, load<std::uint32_t>(raw, at));
    }
  }
  return largest;
}

/// Linkers write an empty table with a first_symbol that says nothing where an object exports
/// nothing. They also put the strings right behind the symbols.
std::uint64_t count_by_distance(const Dynamic& dynamic) {
  if (!dynamic.symbols || !dynamic.strings || *dynamic.strings <= *dynamic.symbols) return 0;
  return (*dynamic.strings - *dynamic.symbols) / kSymbolSize;
}

std::uint64_t count_gnu(ImageBytes& image, const Dynamic& dynamic,
                        std::vector<std::string>& damage) {
  const auto table = read_gnu_table(image, *dynamic.gnu_hash);
  const auto refuse = [&](const char* reason) {
    damage.emplace_back(reason);
    return std::uint64_t{0};
  };
  if (!table) return refuse("symbol hash table lies past the end");
  if (table->bucket_count > kMaxSymbols) {
    return refuse("symbol hash table claims more than 1048576 buckets");
  }
  const auto largest = largest_bucket(image, *table);
  if (!largest) return refuse("symbol hash table lies past the end");
  if (*largest == 0) return count_by_distance(dynamic);
  if (*largest < table->first_symbol) return refuse("symbol hash table contradicts itself");
  for (std::uint64_t index = *largest; index < kMaxSymbols; ++index) {
    const auto hash = read_word(image, table->chains, index - table->first_symbol);
    if (!hash) {
      damage.emplace_back("symbol hash chain lies past the end");
      return index;
    }
    if ((*hash & 1U) != 0) return index + 1;
  }
  damage.emplace_back("more than 1048576 dynamic symbols; the rest was not read");
  return kMaxSymbols;
}

}  // namespace

std::optional<Symbol> read_symbol(ImageBytes& image, const Dynamic& dynamic, std::uint64_t index) {
  if (!dynamic.symbols || index > UINT32_MAX) return std::nullopt;
  std::array<std::byte, kSymbolSize> raw{};
  if (!image.read_address(saturating_add(*dynamic.symbols, index * kSymbolSize), raw)) {
    return std::nullopt;
  }
  return load_symbol(raw);
}

bool defines_any(ImageBytes& image, const Dynamic& dynamic, std::span<const HashedName> names) {
  if (dynamic.gnu_hash) {
    const auto table = read_gnu_table(image, *dynamic.gnu_hash);
    return table && std::any_of(names.begin(), names.end(), [&](const HashedName& name) {
             return find_gnu(image, dynamic, *table, name).has_value();
           });
  }
  return dynamic.sysv_hash && std::any_of(names.begin(), names.end(), [&](const HashedName& name) {
           return find_sysv(image, dynamic, name).has_value();
         });
}

std::uint64_t count_symbols(ImageBytes& image, const Dynamic& dynamic,
                            std::vector<std::string>& damage) {
  if (!dynamic.sysv_hash) {
    return dynamic.gnu_hash ? std::min(count_gnu(image, dynamic, damage), kMaxSymbols) : 0;
  }
  const auto count = read_word(image, *dynamic.sysv_hash, 1);
  if (!count) {
    damage.emplace_back("symbol hash table lies past the end");
    return 0;
  }
  if (*count > kMaxSymbols) {
    damage.emplace_back("more than 1048576 dynamic symbols; the rest was not read");
  }
  return std::min<std::uint64_t>(*count, kMaxSymbols);
}

}  // namespace cudart_doctor::elf
