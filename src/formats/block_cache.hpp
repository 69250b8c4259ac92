// BlockCache: a few blocks of a ByteSource kept in front of the ELF reader, so that the many small
// look-ups of one object cost a handful of system calls.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "cudart_doctor/base/byte_source.hpp"

namespace cudart_doctor {

class BlockCache {
 public:
  explicit BlockCache(ByteSource& source) : source_(&source), head_(source.head()) {}

  /// Reads up to out.size() bytes at `offset`; short where the source ends or refuses. The first
  /// refusal is kept in `error()`.
  std::size_t read(std::uint64_t offset, std::span<std::byte> out);

  /// The bytes that the source holds in memory from `offset` on; may be empty.
  [[nodiscard]] std::span<const std::byte> in_place(std::uint64_t offset) const {
    return offset < head_.size() ? head_.subspan(offset) : std::span<const std::byte>();
  }

  [[nodiscard]] std::optional<std::uint64_t> source_size() const { return source_->size(); }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  static constexpr std::size_t kBlockSize = std::size_t{16} * 1024;
  static constexpr std::size_t kBlocks = 8;

  struct Block {
    std::uint64_t index = 0;
    std::size_t size = 0;  ///< Bytes that were there.
    std::uint64_t used_at = 0;
    std::unique_ptr<std::byte[]> bytes;
  };

  std::size_t read_direct(std::uint64_t offset, std::span<std::byte> out);
  const Block* block_at(std::uint64_t index);

  ByteSource* source_;
  std::span<const std::byte> head_;
  std::array<Block, kBlocks> blocks_;
  std::size_t filled_ = 0;
  std::uint64_t clock_ = 0;
  std::optional<Error> error_;
};

}  // namespace cudart_doctor
