// ByteSource: random access to bytes that others may change under us. The same reader works on a
// file (pread) and on an image in another process (process_vm_readv); nothing is ever mmapped,
// since a file that shrinks kills the reader with SIGBUS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "cudart_doctor/base/result.hpp"

namespace cudart_doctor {

class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  /// Reads up to out.size() bytes at `offset`; returns how many were there (short at the end,
  /// 0 past it). Errors: io, permission, gone.
  virtual Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> out) = 0;

  /// Total size in bytes where one is known (files), else nothing (process memory).
  [[nodiscard]] virtual std::optional<std::uint64_t> size() const = 0;

  /// The first bytes, where the source holds them in memory already; stays valid as long as it.
  [[nodiscard]] virtual std::span<const std::byte> head() const { return {}; }
};

/// A ByteSource over bytes that are already here.
class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::span<const std::byte> bytes) : bytes_(bytes) {}
  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> out) override;
  [[nodiscard]] std::optional<std::uint64_t> size() const override { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
};

/// Reads exactly out.size() bytes or fails with `malformed` ("ends early").
Result<void> read_exact(ByteSource& source, std::uint64_t offset, std::span<std::byte> out);

}  // namespace cudart_doctor
