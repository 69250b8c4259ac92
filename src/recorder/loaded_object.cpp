#include "loaded_object.hpp"

#include "addresses.hpp"

namespace cudart_doctor::recorder {
namespace {

/// No chain of a real table is nearly as long; a damaged one may have no end.
constexpr std::uint32_t kMaxChain = 1U << 20U;

}  // namespace

/// glibc adds the bias to d_ptr in place, except where the dynamic section is read-only. No part of
/// an object lies below its bias, and no offset reaches as far as one.
template <typename T>
const T* LoadedObject::at(ElfW(Addr) value) const {
  return pointer_to<const T*>(value >= bias_ ? value : bias_ + value);
}

LoadedObject::LoadedObject(const link_map& map) : bias_(map.l_addr), dynamic_(map.l_ld) {
  for (const ElfW(Dyn)* entry = dynamic_; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
    switch (entry->d_tag) {
      case DT_SYMTAB: symbols_ = at<ElfW(Sym)>(entry->d_un.d_ptr); break;
      case DT_STRTAB: strings_ = at<char>(entry->d_un.d_ptr); break;
      case DT_STRSZ: strings_size_ = entry->d_un.d_val; break;
      case DT_GNU_HASH: gnu_hash_ = at<std::uint32_t>(entry->d_un.d_ptr); break;
      case DT_HASH: sysv_hash_ = at<std::uint32_t>(entry->d_un.d_ptr); break;
      default: break;
    }
  }
}

const ElfW(Sym) * LoadedObject::match(std::uint32_t index, std::string_view name) const {
  const ElfW(Sym)& symbol = symbols_[index];
  if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= strings_size_) return nullptr;
  if (symbol.st_value == 0 || ELF64_ST_TYPE(symbol.st_info) == STT_TLS) return nullptr;
  return std::string_view(strings_ + symbol.st_name) == name ? &symbol : nullptr;
}

const ElfW(Sym) * LoadedObject::find_gnu(const SymbolName& name) const {
  const std::uint32_t bucket_count = gnu_hash_[0];
  const std::uint32_t first_symbol = gnu_hash_[1];
  const std::uint32_t filter_words = gnu_hash_[2];
  const std::uint32_t shift = gnu_hash_[3];
  if (bucket_count == 0 || filter_words == 0) return nullptr;
  constexpr std::uint32_t kBits = sizeof(ElfW(Addr)) * 8;
  const auto* const filter = reinterpret_cast<const ElfW(Addr)*>(gnu_hash_ + 4);
  const ElfW(Addr) word = filter[(name.gnu / kBits) % filter_words];
  const ElfW(Addr) both = word >> (name.gnu % kBits) & word >> ((name.gnu >> shift) % kBits);
  if ((both & 1U) == 0) return nullptr;
  const auto* const buckets = reinterpret_cast<const std::uint32_t*>(filter + filter_words);
  const std::uint32_t* const chains = buckets + bucket_count;
  const std::uint32_t first = buckets[name.gnu % bucket_count];
  if (first < first_symbol) return nullptr;
  for (std::uint32_t i = 0; i < kMaxChain; ++i) {
    const std::uint32_t hash = chains[first - first_symbol + i];
    if ((hash | 1U) == (name.gnu | 1U)) {
      if (const auto* const symbol = match(first + i, name.text)) return symbol;
    }
    if ((hash & 1U) != 0) return nullptr;  // The low bit ends a chain.
  }
  return nullptr;
}

const ElfW(Sym) * LoadedObject::find_sysv(const SymbolName& name) const {
  const std::uint32_t bucket_count = sysv_hash_[0];
  const std::uint32_t chain_count = sysv_hash_[1];
  if (bucket_count == 0) return nullptr;
  const std::uint32_t* const chains = sysv_hash_ + 2 + bucket_count;
  std::uint32_t index = sysv_hash_[2 + name.sysv % bucket_count];
  for (std::uint32_t i = 0; i < kMaxChain && index != 0 && index < chain_count; ++i) {
    if (const auto* const symbol = match(index, name.text)) return symbol;
    index = chains[index];
  }
  return nullptr;
}

std::uintptr_t LoadedObject::find(const SymbolName& name) const {
  if (symbols_ == nullptr || strings_ == nullptr) return 0;
  const ElfW(Sym)* symbol = nullptr;
  if (gnu_hash_ != nullptr) {
    symbol = find_gnu(name);
  } else if (sysv_hash_ != nullptr) {
    symbol = find_sysv(name);
  }
  return symbol == nullptr ? 0 : bias_ + symbol->st_value;
}

}  // namespace cudart_doctor::recorder
