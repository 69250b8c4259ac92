// A few blocks of another source kept in memory: a reader that asks for many small pieces makes
// few system calls. Reads as large as a block go past it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "cudart_doctor/base/byte_source.hpp"

namespace cudart_doctor {

class CachedSource final : public ByteSource {
 public:
  /// `block_size` is a multiple of 4,096. `source` must outlive this.
  CachedSource(ByteSource& source, std::size_t block_size)
      : source_(source), block_size_(block_size) {}
  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::byte> out) override;
  [[nodiscard]] std::optional<std::uint64_t> size() const override { return source_.size(); }

 private:
  struct Block {
    std::uint64_t begin = 0;
    std::uint64_t last_use = 0;  ///< 0: empty.
    std::unique_ptr<std::byte[]> bytes;
    std::size_t size = 0;
    [[nodiscard]] bool holds(std::uint64_t position) const {
      return last_use != 0 && position >= begin && position - begin < size;
    }
  };
  static constexpr std::size_t kBlocks = 16;

  /// The block that holds `position`, or nullptr where the source has nothing there.
  Result<const Block*> block_at(std::uint64_t position);
  Result<const Block*> fetch(std::uint64_t begin);

  ByteSource& source_;
  std::size_t block_size_ = 0;
  std::uint64_t clock_ = 0;
  std::array<Block, kBlocks> blocks_;
};

}  // namespace cudart_doctor
