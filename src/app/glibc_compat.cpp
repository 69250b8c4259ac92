// Debian's static libgcc asks for _dl_find_object (glibc 2.35) and its static libstdc++ for
// arc4random (2.36). The shipped binary has to start on glibc 2.34 (RHEL 9, Ubuntu 22.04 images),
// so the executable brings both itself; the loader then needs neither from libc.
#include <dlfcn.h>
#include <link.h>
#include <sys/random.h>

#include <cstdint>
#include <cstdlib>

#if __has_include(<dlfcn.h>) && defined(DLFO_STRUCT_HAS_EH_DBASE)

namespace {

struct Search {
  std::uintptr_t address;
  dl_find_object* result;
};

int look_at(dl_phdr_info* info, std::size_t /*size*/, void* data) {
  auto* const search = static_cast<Search*>(data);
  const ElfW(Phdr)* eh_frame = nullptr;
  std::uintptr_t begin = UINTPTR_MAX;
  std::uintptr_t end = 0;
  bool inside = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& header = info->dlpi_phdr[i];
    const std::uintptr_t lo = info->dlpi_addr + header.p_vaddr;
    const std::uintptr_t hi = lo + header.p_memsz;
    if (header.p_type == PT_LOAD) {
      begin = lo < begin ? lo : begin;
      end = hi > end ? hi : end;
      inside = inside || (search->address >= lo && search->address < hi);
    } else if (header.p_type == PT_GNU_EH_FRAME) {
      eh_frame = &header;
    }
  }
  if (!inside || eh_frame == nullptr) return 0;
  *search->result = {};
  // The loader's interface hands out addresses as pointers.
  search->result->dlfo_map_start = reinterpret_cast<void*>(begin);  // NOLINT
  search->result->dlfo_map_end = reinterpret_cast<void*>(end);      // NOLINT
  search->result->dlfo_eh_frame =
      reinterpret_cast<void*>(info->dlpi_addr + eh_frame->p_vaddr);  // NOLINT
  return 1;
}

}  // namespace

// NOLINTNEXTLINE: the name is glibc's.
extern "C" int _dl_find_object(void* address, dl_find_object* result) noexcept {
  Search search{reinterpret_cast<std::uintptr_t>(address), result};  // NOLINT
  return dl_iterate_phdr(&look_at, &search) == 1 ? 0 : -1;
}

#endif

extern "C" std::uint32_t arc4random() noexcept {
  std::uint32_t value = 0;
  if (getrandom(&value, sizeof value, 0) != static_cast<ssize_t>(sizeof value)) std::abort();
  return value;
}
