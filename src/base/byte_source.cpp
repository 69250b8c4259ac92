#include "cudart_doctor/base/byte_source.hpp"

#include <algorithm>
#include <cstring>

namespace cudart_doctor {

Result<std::size_t> MemorySource::read_at(std::uint64_t offset, std::span<std::byte> out) {
  if (offset >= bytes_.size()) return std::size_t{0};
  const std::size_t count = std::min<std::size_t>(out.size(), bytes_.size() - offset);
  if (count > 0) std::memcpy(out.data(), bytes_.data() + offset, count);
  return count;
}

Result<void> read_exact(ByteSource& source, std::uint64_t offset, std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    auto count = source.read_at(offset + done, out.subspan(done));
    if (!count) return tl::unexpected(count.error());
    if (*count == 0) return fail(ErrorKind::malformed, "ends early");
    done += *count;
  }
  return {};
}

}  // namespace cudart_doctor
