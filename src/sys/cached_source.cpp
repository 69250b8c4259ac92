#include "cudart_doctor/sys/cached_source.hpp"

#include <algorithm>
#include <cstring>

namespace cudart_doctor {
namespace {

constexpr std::uint64_t kPage = 4096;

}  // namespace

Result<const CachedSource::Block*> CachedSource::fetch(std::uint64_t begin) {
  Block* oldest = &blocks_.front();
  for (auto& block : blocks_) {
    if (block.last_use < oldest->last_use) oldest = &block;
  }
  oldest->last_use = 0;
  if (!oldest->bytes) oldest->bytes = std::make_unique_for_overwrite<std::byte[]>(block_size_);
  std::size_t filled = 0;
  while (filled < block_size_) {
    auto count =
        source_.read_at(begin + filled, {oldest->bytes.get() + filled, block_size_ - filled});
    if (!count) return tl::unexpected(count.error());
    if (*count == 0) break;
    filled += *count;
    // A source that knows its size tells the end without another read.
    if (const auto total = source_.size(); total && begin + filled >= *total) break;
  }
  oldest->size = filled;
  oldest->begin = begin;
  oldest->last_use = ++clock_;
  return oldest;
}

Result<const CachedSource::Block*> CachedSource::block_at(std::uint64_t position) {
  for (auto& block : blocks_) {
    if (!block.holds(position)) continue;
    block.last_use = ++clock_;
    return &block;
  }
  if (const auto total = source_.size(); total && position >= *total) return nullptr;
  const std::uint64_t aligned = position - position % block_size_;
  auto block = fetch(aligned);
  // In process memory the start of the aligned block may be a hole: begin at the page itself.
  const std::uint64_t page = position - position % kPage;
  if ((!block || !(*block)->holds(position)) && page != aligned) block = fetch(page);
  if (!block) return block;
  return (*block)->holds(position) ? *block : nullptr;
}

Result<std::size_t> CachedSource::read_at(std::uint64_t offset, std::span<std::byte> out) {
  if (out.size() >= block_size_) return source_.read_at(offset, out);
  std::size_t done = 0;
  while (done < out.size()) {
    if (offset > UINT64_MAX - done) break;
    const std::uint64_t position = offset + done;
    auto block = block_at(position);
    if (!block) {
      if (done > 0) break;
      return tl::unexpected(block.error());
    }
    if (*block == nullptr) break;
    const auto skip = static_cast<std::size_t>(position - (*block)->begin);
    const std::size_t count = std::min(out.size() - done, (*block)->size - skip);
    std::memcpy(out.data() + done, (*block)->bytes.get() + skip, count);
    done += count;
  }
  return done;
}

}  // namespace cudart_doctor
