#include "device_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <string>

#include "faults.hpp"

namespace fake {
namespace {

constexpr std::uint64_t kMagic = 0x66616b6569706331;

struct Allocation {
  std::size_t bytes = 0;
  int descriptor = -1;
  Kind kind = Kind::plain;
  bool mapped = true;
};

std::map<std::uint64_t, Allocation>& allocations() {
  static std::map<std::uint64_t, Allocation> all;
  return all;
}

void* pointer(std::uint64_t address) { return reinterpret_cast<void*>(address); }

std::map<std::uint64_t, Allocation>::iterator holder(std::uint64_t address) {
  auto at = allocations().upper_bound(address);
  if (at == allocations().begin()) return allocations().end();
  --at;
  return address - at->first < at->second.bytes ? at : allocations().end();
}

std::uint64_t map_shared(std::size_t bytes, int descriptor, Kind kind) {
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (at == MAP_FAILED) return 0;
  const auto address = reinterpret_cast<std::uint64_t>(at);
  allocations()[address] = {bytes, descriptor, kind, true};
  return address;
}

}  // namespace

int make_memory(std::size_t bytes) {
  const int descriptor = ::memfd_create("fake device memory", MFD_CLOEXEC);
  if (descriptor >= 0 && ::ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) return -1;
  return descriptor;
}

std::uint64_t allocate(std::size_t bytes, Kind kind) {
  const int descriptor = make_memory(bytes);
  return descriptor < 0 ? 0 : map_shared(bytes, descriptor, kind);
}

bool release(std::uint64_t address, Kind kind) {
  const auto at = allocations().find(address);
  if (at == allocations().end() || at->second.kind != kind) return false;
  ::munmap(pointer(address), at->second.bytes);
  if (at->second.descriptor >= 0) ::close(at->second.descriptor);
  allocations().erase(at);
  return true;
}

bool is_mapped(std::uint64_t address, std::size_t bytes) {
  const auto at = holder(address);
  return at != allocations().end() && at->second.mapped &&
         bytes <= at->second.bytes - (address - at->first);
}

int export_handle(std::uint64_t address, Handle& out) {
  const auto at = holder(address);
  if (at == allocations().end() || at->second.kind != Kind::plain) return 1;
  out = {kMagic, ::getpid(), at->second.descriptor, at->second.bytes};
  return 0;
}

int import_handle(const Handle& handle, std::uint64_t& address) {
  if (handle.magic != kMagic) return 1;
  if (handle.process == ::getpid()) return 201;
  const std::string path =
      "/proc/" + std::to_string(handle.process) + "/fd/" + std::to_string(handle.descriptor);
  const int descriptor =
      has("corrupt") ? make_memory(handle.bytes) : ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return 1;
  address = map_shared(handle.bytes, descriptor, Kind::imported);
  return address == 0 ? 2 : 0;
}

std::uint64_t reserve(std::size_t bytes) {
  void* const at =
      ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return 0;
  const auto address = reinterpret_cast<std::uint64_t>(at);
  allocations()[address] = {bytes, -1, Kind::reserved, false};
  return address;
}

bool map_at(std::uint64_t address, std::size_t bytes, int descriptor) {
  const auto at = allocations().find(address);
  if (at == allocations().end() || at->second.bytes != bytes) return false;
  at->second.mapped = ::mmap(pointer(address), bytes, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_FIXED, descriptor, 0) != MAP_FAILED;
  return at->second.mapped;
}

bool unmap_at(std::uint64_t address, std::size_t bytes) {
  const auto at = allocations().find(address);
  if (at == allocations().end() || !at->second.mapped || at->second.bytes != bytes) return false;
  at->second.mapped = false;
  return ::mmap(pointer(address), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
                0) != MAP_FAILED;
}

}  // namespace fake
