#include "cudart_doctor/collect/memory_reading.hpp"

#include <algorithm>
#include <array>

#include "cudart_doctor/base/checked.hpp"

namespace cudart_doctor {

Result<std::string> read_c_string(ByteSource& memory, std::uint64_t address, std::size_t cap) {
  std::string text;
  std::array<char, 256> piece;
  while (text.size() <= cap) {
    const std::uint64_t at = saturating_add(address, text.size());
    auto count = memory.read_at(at, std::as_writable_bytes(std::span(piece)));
    if (!count) return tl::unexpected(count.error());
    if (*count == 0) return fail(ErrorKind::malformed, "a text runs into unmapped memory");
    const auto begin = piece.begin();
    const auto end = begin + static_cast<std::ptrdiff_t>(*count);
    const auto nul = std::find(begin, end, '\0');
    text.append(begin, nul);
    if (nul != end) break;
  }
  if (text.size() > cap) return fail(ErrorKind::limit, "a text is longer than its limit");
  return text;
}

}  // namespace cudart_doctor
