// An object of this process, read through its dynamic section. All of it is mapped by the loader
// before the recorder hears of it.
#pragma once

#include <link.h>

#include <cstdint>
#include <string_view>

namespace cudart_doctor::recorder {

/// A symbol's name with its hash in either table, so that objects are asked quickly.
struct SymbolName {
  std::string_view text;
  std::uint32_t gnu = 5381;
  std::uint32_t sysv = 0;
  constexpr explicit SymbolName(std::string_view name) : text(name) {
    for (const char c : name) {
      const auto byte = static_cast<std::uint8_t>(c);
      gnu = gnu * 33 + byte;
      sysv = (sysv << 4U) + byte;
      const std::uint32_t high = sysv & 0xF0000000U;
      sysv ^= high >> 24U;
      sysv &= ~high;
    }
  }
};

class LoadedObject {
 public:
  explicit LoadedObject(const link_map& map);

  /// Where the object defines `name`; 0 where it does not.
  [[nodiscard]] std::uintptr_t find(const SymbolName& name) const;

  /// Whether `accept` is true for one of the names in DT_NEEDED.
  template <typename Accept>
  [[nodiscard]] bool any_needed(Accept accept) const {
    if (strings_ == nullptr) return false;
    for (const ElfW(Dyn)* entry = dynamic_; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_NEEDED && entry->d_un.d_val < strings_size_ &&
          accept(std::string_view(strings_ + entry->d_un.d_val))) {
        return true;
      }
    }
    return false;
  }

 private:
  template <typename T>
  [[nodiscard]] const T* at(ElfW(Addr) value) const;
  [[nodiscard]] const ElfW(Sym) * match(std::uint32_t index, std::string_view name) const;
  [[nodiscard]] const ElfW(Sym) * find_gnu(const SymbolName& name) const;
  [[nodiscard]] const ElfW(Sym) * find_sysv(const SymbolName& name) const;

  ElfW(Addr) bias_ = 0;
  const ElfW(Dyn) * dynamic_ = nullptr;
  const ElfW(Sym) * symbols_ = nullptr;
  const char* strings_ = nullptr;
  std::size_t strings_size_ = 0;
  const std::uint32_t* gnu_hash_ = nullptr;
  const std::uint32_t* sysv_hash_ = nullptr;
};

}  // namespace cudart_doctor::recorder
