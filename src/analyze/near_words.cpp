#include "near_words.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace cudart_doctor {
namespace {

constexpr std::size_t kLongestWord = 64;  // Longer than any name; bounds the comparison.
constexpr std::size_t kMaxNear = 5;

/// How many letters must be put in, taken out or changed to get from one word to the other.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t k = 0; k < b.size(); ++k) {
      const std::size_t changed = diagonal + (a[i] == b[k] ? 0 : 1);
      diagonal = row[k + 1];
      row[k + 1] = std::min({row[k] + 1, row[k + 1] + 1, changed});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string folded(std::string_view text) {
  std::string out(text);
  for (char& letter : out) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return out;
}

NearWords::NearWords(std::string_view word) : word_(folded(word).substr(0, kLongestWord)) {}

void NearWords::offer(std::string_view known) {
  if (known.empty()) return;
  const std::string other = folded(known);
  const auto [shorter, longer] = std::minmax({word_.size(), other.size()});
  const std::size_t farthest = std::max<std::size_t>(1, shorter / 3);
  const bool contained = word_.size() >= 3 && other.find(word_) != std::string::npos;
  // Each letter that one has more is a difference.
  if (!contained && longer - shorter > farthest) return;
  std::size_t apart = distance(word_, other);
  if (contained) apart = std::min<std::size_t>(apart, 2);
  if (apart <= farthest) found_.push_back({apart, std::string(known)});
}

std::vector<std::string> NearWords::take() {
  std::stable_sort(found_.begin(), found_.end(),
                   [](const Near& a, const Near& b) { return a.distance < b.distance; });
  std::vector<std::string> words;
  for (Near& near : found_) {
    if (words.size() < kMaxNear) words.push_back(std::move(near.word));
  }
  return words;
}

}  // namespace cudart_doctor
