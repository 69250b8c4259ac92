// The fakes' device memory: a memfd for each allocation, so that another process can map it by
// /proc/PID/fd, and nothing is left behind when one dies.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fake {

enum class Kind { plain, pool, imported, reserved };

/// What an IPC handle holds.
struct Handle {
  std::uint64_t magic;
  std::int64_t process;
  std::int64_t descriptor;
  std::uint64_t bytes;
};

/// 0 where there is no memory.
std::uint64_t allocate(std::size_t bytes, Kind kind);
/// False: no such allocation of that kind.
bool release(std::uint64_t address, Kind kind);
/// Whether [address, address + bytes) is in one mapped allocation.
bool is_mapped(std::uint64_t address, std::size_t bytes);
/// CUDA's result code.
int export_handle(std::uint64_t address, Handle& out);
int import_handle(const Handle& handle, std::uint64_t& address);

/// Virtual memory: a range without memory, and memory mapped there.
std::uint64_t reserve(std::size_t bytes);
bool map_at(std::uint64_t address, std::size_t bytes, int descriptor);
bool unmap_at(std::uint64_t address, std::size_t bytes);
int make_memory(std::size_t bytes);

}  // namespace fake
