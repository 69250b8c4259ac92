#include "cudart_doctor/base/count_bytes.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace cudart_doctor {

std::size_t count_bytes(std::string_view text, char letter) {
  // Small counters side by side are what compilers make vector instructions of; emptied before
  // they can overflow.
  std::array<std::uint8_t, 32> counters{};
  std::size_t count = 0;
  while (text.size() >= counters.size()) {
    const std::size_t rows = std::min<std::size_t>(text.size() / counters.size(), 255);
    counters.fill(0);
    for (std::size_t row = 0; row < rows; ++row) {
      const char* const bytes = text.data() + row * counters.size();
      for (std::size_t i = 0; i < counters.size(); ++i) {
        counters[i] = static_cast<std::uint8_t>(counters[i] + (bytes[i] == letter ? 1 : 0));
      }
    }
    for (const std::uint8_t counter : counters) count += counter;
    text.remove_prefix(rows * counters.size());
  }
  return count + static_cast<std::size_t>(std::count(text.begin(), text.end(), letter));
}

}  // namespace cudart_doctor
