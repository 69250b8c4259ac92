// Each pattern is represented by a window of 11 bytes of its text. Wherever a window lies, one of
// its eight groups of four bytes begins at a multiple of eight: only those places are looked up,
// in a table of the groups of all windows.
#include "pattern_filter.hpp"

#include <algorithm>
#include <cstring>
#include <unordered_set>
#include <utility>

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

constexpr std::size_t kGroup = 4;
constexpr std::size_t kStride = PatternFilter::kWindow - kGroup + 1;
static_assert(kStride == 8, "one bit of a byte for each place of a group in a window");

/// Letters lose their case; that other bytes change as well only makes more of them equal.
/// Patterns are kept like this too.
std::uint32_t group_at(const char* bytes) {
  std::uint32_t group = 0;
  std::memcpy(&group, bytes, kGroup);
  return group | 0x20202020U;
}

void fold(std::string& text) {
  for (char& letter : text) letter = static_cast<char>(letter | ' ');
}

std::size_t slot_of(const char* bytes) {
  constexpr std::uint32_t kSpread = 0x9E3779B1U;  // 2^32 by the golden ratio: Fibonacci hashing.
  return (group_at(bytes) * kSpread) >> 17U;      // 15 bits remain.
}

/// How common the letters of a window are in English and so in logs: more is worse.
unsigned commonness(std::string_view window) {
  constexpr std::string_view kRareFirst = "zqjxkvbpygfwmucldrhsnioate ";
  unsigned sum = 0;
  for (const char letter : window) {
    const std::size_t rank = kRareFirst.find(letter);
    sum += rank == std::string_view::npos ? 8 : static_cast<unsigned>(rank);
  }
  return sum;
}

std::vector<std::string_view> windows_of(const std::vector<std::string>& pieces) {
  std::vector<std::string_view> windows;
  for (const std::string_view piece : pieces) {
    for (std::size_t i = 0; i + PatternFilter::kWindow <= piece.size(); ++i) {
      windows.push_back(piece.substr(i, PatternFilter::kWindow));
    }
  }
  return windows;
}

}  // namespace

void PatternFilter::add(std::string_view pattern) {
  Pieces pieces;
  for (std::string_view text : split(pattern, '*')) {
    if (text.starts_with('|')) text.remove_prefix(1);
    if (text.ends_with('|')) text.remove_suffix(1);
    if (text.size() < kWindow) continue;
    pieces.emplace_back(text);
    fold(pieces.back());
  }
  everywhere_ = everywhere_ || pieces.empty();
  patterns_.push_back(std::move(pieces));
}

void PatternFilter::admit(std::string_view window) {
  for (std::size_t i = 0; i < kStride; ++i) {
    std::uint8_t& places = places_.at(slot_of(window.data() + i));
    places = static_cast<std::uint8_t>(places | (1U << i));
  }
}

void PatternFilter::build() {
  // Who has little choice chooses first: the fewer windows, the fewer false alarms.
  const auto choices = [](const Pieces& pieces) {
    std::size_t sum = 0;
    for (const std::string& piece : pieces) sum += piece.size() - kWindow + 1;
    return sum;
  };
  std::sort(patterns_.begin(), patterns_.end(), [&](const Pieces& left, const Pieces& right) {
    return std::pair(choices(left), left) < std::pair(choices(right), right);
  });
  std::unordered_set<std::string_view> chosen;
  for (const Pieces& pieces : patterns_) {
    const auto windows = windows_of(pieces);
    const bool known = std::any_of(windows.begin(), windows.end(), [&](std::string_view window) {
      return chosen.contains(window);
    });
    if (known || windows.empty()) continue;
    chosen.insert(*std::min_element(windows.begin(), windows.end(),
                                    [](std::string_view left, std::string_view right) {
                                      return commonness(left) < commonness(right);
                                    }));
  }
  windows_.assign(chosen.begin(), chosen.end());
  std::sort(windows_.begin(), windows_.end());
  for (const std::string& window : windows_) admit(window);
  patterns_ = {};
}

unsigned PatternFilter::places_at(std::string_view text, std::size_t at) const {
  return places_[slot_of(text.data() + at)];
}

bool PatternFilter::is_window(std::string_view text) const {
  std::string folded(text);
  fold(folded);
  return std::binary_search(windows_.begin(), windows_.end(), folded);
}

std::size_t PatternFilter::find(std::string_view text, std::size_t from) const {
  if (everywhere_) return from < text.size() ? from : std::string_view::npos;
  for (std::size_t at = from; at + kGroup <= text.size(); at += kStride) {
    unsigned places = places_at(text, at);
    if (places == 0) continue;
    // A group before or behind it in the same window must know it at that distance as well.
    if (text.size() - at >= kGroup + 3) places &= (places_at(text, at + 3) >> 3U) | 0xe0U;
    if (at - from >= 4) places &= (places_at(text, at - 4) << 4U) | 0x0fU;
    for (std::size_t i = 0; places >> i != 0; ++i) {
      if (((places >> i) & 1U) == 0 || at - from < i) continue;
      const std::string_view window = text.substr(at - i, kWindow);
      if (window.size() == kWindow && is_window(window)) return at - i;
    }
  }
  return std::string_view::npos;
}

}  // namespace cudart_doctor
