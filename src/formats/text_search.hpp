// TextSearch: finds many fixed texts in one pass at memory speed. Every text is at least eight
// bytes long, so that looking at every fourth position is enough to see each of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace cudart_doctor {

class TextSearch {
 public:
  static constexpr std::size_t kShortest = 8;

  /// Where a text was found: its number in `texts` and its first byte.
  struct Hit {
    std::size_t text = 0;
    std::size_t at = 0;
  };

  explicit TextSearch(std::span<const std::string_view> texts);

  /// All hits in `bytes`, in ascending order of the place where they were noticed.
  [[nodiscard]] std::vector<Hit> find(std::span<const std::byte> bytes) const;

 private:
  static constexpr std::size_t kStride = 4;
  static constexpr unsigned kHashBits = 16;
  using Filter = std::array<std::uint64_t, (std::size_t{1} << kHashBits) / 64>;

  static std::size_t hash(std::uint32_t window) {
    constexpr std::uint32_t kMultiplier = 0x9E3779B1;  // 2^32 divided by the golden ratio
    return (window * kMultiplier) >> (32 - kHashBits);
  }

  /// Four bytes of a text, from `skip` on.
  struct Window {
    std::uint32_t bytes = 0;
    std::size_t text = 0;
    std::size_t skip = 0;
  };

  void verify(std::span<const std::byte> bytes, std::size_t at, std::vector<Hit>& hits) const;

  std::span<const std::string_view> texts_;
  std::vector<Window> windows_;  ///< Sorted by their bytes.
  Filter filter_{};              ///< One bit for the hash of each window.
};

}  // namespace cudart_doctor
