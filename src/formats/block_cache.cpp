#include "block_cache.hpp"

#include <algorithm>
#include <cstring>

#include "cudart_doctor/base/checked.hpp"

namespace cudart_doctor {

std::size_t BlockCache::read_direct(std::uint64_t offset, std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const auto count = source_->read_at(offset + done, out.subspan(done));
    if (!count) {
      if (!error_) error_ = count.error();
      break;
    }
    if (*count == 0) break;
    done += *count;
  }
  return done;
}

const BlockCache::Block* BlockCache::block_at(std::uint64_t index) {
  ++clock_;
  for (std::size_t i = 0; i < filled_; ++i) {
    if (blocks_[i].index != index) continue;
    blocks_[i].used_at = clock_;
    return &blocks_[i];
  }
  Block* block = nullptr;
  if (filled_ < kBlocks) {
    block = &blocks_[filled_++];
    block->bytes = std::make_unique_for_overwrite<std::byte[]>(kBlockSize);
  } else {
    block = &*std::min_element(blocks_.begin(), blocks_.end(),
                               [](const auto& a, const auto& b) { return a.used_at < b.used_at; });
  }
  // A block of process memory may begin or end in a hole: what is there counts, no error.
  const auto count = source_->read_at(index * kBlockSize, {block->bytes.get(), kBlockSize});
  block->index = index;
  block->size = count.value_or(0);
  block->used_at = clock_;
  return block;
}

std::size_t BlockCache::read(std::uint64_t offset, std::span<std::byte> out) {
  if (offset > UINT64_MAX - out.size()) return 0;
  if (fits(offset, out.size(), head_.size())) {
    if (!out.empty()) std::memcpy(out.data(), head_.data() + offset, out.size());
    return out.size();
  }
  if (out.size() >= 2 * kBlockSize) return read_direct(offset, out);
  std::size_t done = 0;
  while (done < out.size()) {
    const std::uint64_t at = offset + done;
    const Block* const block = block_at(at / kBlockSize);
    const auto skip = static_cast<std::size_t>(at % kBlockSize);
    if (skip >= block->size) break;
    const std::size_t count = std::min(out.size() - done, block->size - skip);
    std::memcpy(out.data() + done, block->bytes.get() + skip, count);
    done += count;
  }
  if (done == out.size()) return done;
  // The block came short: the end of a file, or a hole before the wanted bytes.
  if (const auto size = source_->size(); size && offset + done >= *size) return done;
  return done + read_direct(offset + done, out.subspan(done));
}

}  // namespace cudart_doctor
