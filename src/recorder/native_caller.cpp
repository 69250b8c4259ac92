#include "native_caller.hpp"

#include <fcntl.h>
#include <sys/uio.h>

#include <algorithm>
#include <cstddef>

#include "aarch64_code.hpp"
#include "family.hpp"
#include "system_calls.hpp"

namespace cudart_doctor::recorder {
namespace {

constexpr std::size_t kPage = 4096;  // The smallest; larger ones end where one of these does.
constexpr std::size_t kMaxSegments = 64;

/// Reads own memory through the kernel: what is not mapped is an error then, not a fault.
bool read_own(std::uintptr_t from, void* to, std::size_t size) {
  iovec local{.iov_base = to, .iov_len = size};
  iovec remote{.iov_base = pointer_to<void*>(from), .iov_len = size};
  const long got = call({.number = __NR_process_vm_readv,
                         .first = process_id(),
                         .second = address(&local),
                         .third = 1,
                         .fourth = address(&remote),
                         .fifth = 1});
  return got == static_cast<long>(size);
}

/// The executable segments of an object.
class Code {
 public:
  explicit Code(const link_map& object);
  [[nodiscard]] bool holds(std::uintptr_t place) const {
    for (std::size_t i = 0; i < count_; ++i) {
      if (place - segments_[i].begin < segments_[i].size) return true;
    }
    return false;
  }

 private:
  struct Segment {
    std::uintptr_t begin = 0;
    std::size_t size = 0;
  };
  Segment segments_[kMaxSegments];
  std::size_t count_ = 0;
};

/// Where an object's program headers are and how many.
struct HeaderTable {
  std::uintptr_t begin = 0;
  std::size_t count = 0;
};

/// From the auxiliary vector: a program with a fixed address has no bias to find its header by.
HeaderTable program_headers() {
  struct Entry {
    std::uint64_t type = AT_NULL;
    std::uint64_t value = 0;
  };
  constexpr std::size_t kMaxEntries = 64;
  Entry entries[kMaxEntries];
  const long fd = call({.number = __NR_openat,
                        .first = AT_FDCWD,
                        .second = address("/proc/self/auxv"),
                        .third = O_RDONLY | O_CLOEXEC});
  if (fd < 0) return {};
  const long size =
      call({.number = __NR_read, .first = fd, .second = address(entries), .third = sizeof entries});
  call({.number = __NR_close, .first = fd});
  HeaderTable table;
  for (std::size_t i = 0; size > 0 && i < static_cast<std::size_t>(size) / sizeof(Entry); ++i) {
    if (entries[i].type == AT_PHDR) table.begin = entries[i].value;
    if (entries[i].type == AT_PHNUM) table.count = entries[i].value;
  }
  return table;
}

HeaderTable find_headers(const link_map& object) {
  if (object.l_addr == 0) return program_headers();
  ElfW(Ehdr) header{};
  if (!read_own(object.l_addr, &header, sizeof header)) return {};
  const bool is_header = header.e_ident[EI_MAG0] == ELFMAG0 && header.e_ident[EI_MAG1] == ELFMAG1;
  if (!is_header || header.e_phentsize != sizeof(ElfW(Phdr))) return {};
  return {.begin = object.l_addr + header.e_phoff, .count = header.e_phnum};
}

Code::Code(const link_map& object) {
  const HeaderTable table = find_headers(object);
  for (std::size_t i = 0; i < table.count && count_ < kMaxSegments; ++i) {
    ElfW(Phdr) entry{};
    if (!read_own(table.begin + i * sizeof entry, &entry, sizeof entry)) return;
    if (entry.p_type != PT_LOAD || (entry.p_flags & PF_X) == 0) continue;
    segments_[count_++] = {.begin = object.l_addr + entry.p_vaddr, .size = entry.p_memsz};
  }
}

/// Whether the instruction before `place` is a call: other words on a stack point into code too.
bool follows_call(std::uintptr_t place) {
#if defined(__x86_64__)
  constexpr std::size_t kLongest = 7;
  std::uint8_t code[kLongest] = {};
  if (place < kLongest || !read_own(place - kLongest, code, sizeof code)) return false;
  if (code[kLongest - 5] == 0xE8) return true;
  // FF /2 in its lengths: register or [register], with SIB, with 8 and 32 bits of displacement.
  constexpr std::size_t kIndirectCalls[] = {2, 3, 4, 6, 7};
  return std::ranges::any_of(kIndirectCalls, [&](std::size_t length) {
    const std::size_t at = kLongest - length;
    return code[at] == 0xFF && (code[at + 1] & 0x38U) == 0x10;
  });
#else
  std::uint32_t code = 0;
  if (place % sizeof code != 0 || !read_own(place - sizeof code, &code, sizeof code)) return false;
  return aarch64::is_call(code);
#endif
}

std::uintptr_t word_at(std::uintptr_t place) {
  std::uintptr_t word = 0;
  return read_own(place, &word, sizeof word) ? word : 0;
}

#if defined(__x86_64__)
/// As it is on the stack.
std::uintptr_t plain_address(std::uintptr_t word) { return word; }

/// A 32-bit displacement from `next`, the end of the instruction that holds it.
std::uintptr_t displaced(std::uintptr_t next, const std::uint8_t* bytes) {
  std::int32_t distance = 0;
  __builtin_memcpy(&distance, bytes, sizeof distance);
  return next + static_cast<std::uintptr_t>(std::intptr_t{distance});
}

/// Behind a stub of the PLT: endbr64 and bnd may be before its jump.
std::uintptr_t behind_stub(std::uintptr_t place) {
  std::uint8_t code[16] = {};
  if (!read_own(place, code, sizeof code)) return 0;
  std::size_t at = code[0] == 0xF3 && code[1] == 0x0F && code[2] == 0x1E ? 4 : 0;
  if (code[at] == 0xF2) ++at;
  if (code[at] != 0xFF || code[at + 1] != 0x25) return place;
  return word_at(displaced(place + at + 6, code + at + 2));
}

/// What the call before `place` calls; 0 where only the registers of that moment knew.
std::uintptr_t callee_before(std::uintptr_t place) {
  std::uint8_t code[6] = {};
  if (place < sizeof code || !read_own(place - sizeof code, code, sizeof code)) return 0;
  if (code[1] == 0xE8) return behind_stub(displaced(place, code + 2));
  if (code[0] == 0xFF && code[1] == 0x15) return word_at(displaced(place, code + 2));
  return 0;
}
#else
std::uintptr_t plain_address(std::uintptr_t word) { return aarch64::without_signature(word); }

/// What the call before `place` calls; 0 where only the registers of that moment knew.
std::uintptr_t callee_before(std::uintptr_t place) {
  std::uint32_t call_code = 0;
  if (!read_own(place - sizeof call_code, &call_code, sizeof call_code)) return 0;
  const std::uintptr_t target = aarch64::branch_target(place - sizeof call_code, call_code);
  std::uint32_t code[3] = {};
  if (target == 0 || !read_own(target, code, sizeof code)) return target;
  const std::uintptr_t slot = aarch64::stub_slot(target, code);
  return slot == 0 ? target : word_at(slot);
}
#endif

}  // namespace

void OwnStack::read(const link_map* first) {
  static constexpr SymbolName kOpeners[] = {SymbolName{"dlopen"}, SymbolName{"dlmopen"}};
  first_ = first;
  opener_count_ = 0;
  for (const link_map* object = first; object != nullptr; object = object->l_next) {
    for (const SymbolName& name : kOpeners) {
      const std::uintptr_t place = LoadedObject(*object).find(name);
      if (place != 0 && opener_count_ < kMaxOpeners) openers_[opener_count_++] = place;
    }
  }
  size_ = 0;
  auto from = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  while (size_ < kWords) {
    // Up to the next page: the one behind it may be no stack.
    const std::size_t count = std::min((kPage - from % kPage) / sizeof words_[0], kWords - size_);
    if (!read_own(from, words_ + size_, count * sizeof words_[0])) return;
    for (std::size_t end = size_ + count; size_ < end; ++size_) {
      words_[size_] = plain_address(words_[size_]);
    }
    from += count * sizeof words_[0];
  }
}

bool OwnStack::calls_opener(std::uintptr_t place) const {
  const std::uintptr_t callee = callee_before(place);
  for (std::size_t i = 0; callee != 0 && i < opener_count_; ++i) {
    if (openers_[i] == callee) return true;
  }
  return false;
}

NativeCaller OwnStack::find(const link_map& object) const {
  const Code code(object);
  std::uintptr_t any = 0;
  for (std::size_t i = 0; i < size_; ++i) {
    if (!code.holds(words_[i]) || !follows_call(words_[i])) continue;
    if (any == 0) any = words_[i];
    if (!calls_opener(words_[i])) continue;
    any = words_[i];
    break;
  }
  if (any == 0) return {};
  return {.object = &object, .offset = any - object.l_addr};
}

NativeCaller OwnStack::find_in_any() const {
  std::size_t limit = size_;
  NativeCaller found;
  for (const link_map* object = first_; object != nullptr; object = object->l_next) {
    if (object->l_name != nullptr && is_c_library(object->l_name)) continue;
    const Code code(*object);
    for (std::size_t i = 0; i < limit; ++i) {
      if (!code.holds(words_[i]) || !calls_opener(words_[i])) continue;
      limit = i;
      found = {.object = object, .offset = words_[i] - object->l_addr};
    }
  }
  return found;
}

}  // namespace cudart_doctor::recorder
