#include "cudart_doctor/sys/process_memory.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>

namespace cudart_doctor {
namespace {

constexpr std::uint64_t kPage = 4096;  // The smallest page: a bigger one has edges here as well.
constexpr std::size_t kMaxPieces = 256;

}  // namespace

Result<std::size_t> ProcessMemory::read_at(std::uint64_t offset, std::span<std::byte> out) {
  if (refusal_) return tl::unexpected(*refusal_);
  // The kernel takes addresses as signed file offsets in /proc/PID/mem; user addresses are below.
  if (out.empty() || offset > INT64_MAX) return std::size_t{0};
  const std::uint64_t room = static_cast<std::uint64_t>(INT64_MAX) - offset;
  out = out.first(static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), room)));
  if (pid_ > 0) {
    auto count = read_by_call(offset, out);
    if (count || count.error().kind == ErrorKind::gone) return count;
    pid_ = 0;
  }
  return read_by_file(offset, out);
}

Result<std::size_t> ProcessMemory::read_by_call(std::uint64_t offset, std::span<std::byte> out) {
  // Documented: a transfer never splits one iovec element. Cut at page edges, a read that runs
  // into a hole still gives what lies before it.
  std::array<iovec, kMaxPieces> remote;
  std::size_t pieces = 0;
  std::uint64_t covered = 0;
  while (covered < out.size() && pieces < kMaxPieces) {
    const std::uint64_t address = offset + covered;
    const std::uint64_t size = std::min(kPage - address % kPage, out.size() - covered);
    remote[pieces].iov_base = std::bit_cast<void*>(static_cast<std::uintptr_t>(address));
    remote[pieces].iov_len = static_cast<std::size_t>(size);
    ++pieces;
    covered += size;
  }
  iovec local = {out.data(), static_cast<std::size_t>(covered)};
  const ssize_t count =
      ::process_vm_readv(static_cast<pid_t>(pid_), &local, 1, remote.data(), pieces, 0);
  if (count >= 0) return static_cast<std::size_t>(count);
  if (errno == EFAULT) return std::size_t{0};
  return tl::unexpected(system_error(errno, process_.shown("mem"), Need::memory));
}

Result<std::size_t> ProcessMemory::read_by_file(std::uint64_t offset, std::span<std::byte> out) {
  if (descriptor_ < 0) {
    auto fd = process_.open_file("mem");
    if (!fd) {
      return tl::unexpected(
          system_error(fd.error().sys_errno, process_.shown("mem"), Need::memory));
    }
    mem_ = std::move(*fd);
    descriptor_ = mem_.get();
  }
  while (true) {
    const ssize_t count = ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset));
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno == EINTR) continue;
    // EIO: the page is not there (or cannot be read by others, as [vvar]).
    if (errno == EIO || errno == EFAULT) return std::size_t{0};
    return tl::unexpected(system_error(errno, process_.shown("mem"), Need::memory));
  }
}

Result<std::size_t> ShiftedSource::read_at(std::uint64_t offset, std::span<std::byte> out) {
  if (offset > UINT64_MAX - base_) return std::size_t{0};
  return source_.read_at(base_ + offset, out);
}

}  // namespace cudart_doctor
