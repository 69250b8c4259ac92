#include "text_search.hpp"

#include <algorithm>
#include <cstring>

namespace cudart_doctor {
namespace {

std::uint32_t load_window(const void* from) {
  std::uint32_t bytes = 0;
  std::memcpy(&bytes, from, sizeof bytes);
  return bytes;
}

}  // namespace

TextSearch::TextSearch(std::span<const std::string_view> texts) : texts_(texts) {
  for (std::size_t text = 0; text < texts.size(); ++text) {
    // Whatever a text's place in the bytes, one of its first four windows lies at a fourth
    // position.
    for (std::size_t skip = 0; skip < kStride && texts[text].size() >= kShortest; ++skip) {
      const std::uint32_t bytes = load_window(texts[text].data() + skip);
      windows_.push_back({bytes, text, skip});
      filter_[hash(bytes) / 64] |= std::uint64_t{1} << (hash(bytes) % 64);
    }
  }
  std::sort(windows_.begin(), windows_.end(),
            [](const Window& a, const Window& b) { return a.bytes < b.bytes; });
}

void TextSearch::verify(std::span<const std::byte> bytes, std::size_t at,
                        std::vector<Hit>& hits) const {
  const std::uint32_t wanted = load_window(bytes.data() + at);
  auto window = std::lower_bound(
      windows_.begin(), windows_.end(), wanted,
      [](const Window& candidate, std::uint32_t value) { return candidate.bytes < value; });
  for (; window != windows_.end() && window->bytes == wanted; ++window) {
    const std::string_view text = texts_[window->text];
    if (window->skip > at) continue;
    const std::size_t begin = at - window->skip;
    if (text.size() > bytes.size() - begin) continue;
    if (std::memcmp(bytes.data() + begin, text.data(), text.size()) == 0) {
      hits.push_back({window->text, begin});
    }
  }
}

std::vector<TextSearch::Hit> TextSearch::find(std::span<const std::byte> bytes) const {
  std::vector<Hit> hits;
  if (bytes.size() < kShortest) return hits;
  const std::byte* const data = bytes.data();
  const std::size_t end = bytes.size() - kStride + 1;
  for (std::size_t at = 0; at < end; at += kStride) {
    const std::size_t slot = hash(load_window(data + at));
    if (((filter_[slot / 64] >> (slot % 64)) & 1U) != 0) verify(bytes, at, hits);
  }
  return hits;
}

}  // namespace cudart_doctor
