// What a word of the command line stands for, and which known words look like it.
#include <algorithm>
#include <numeric>

#include "cudart_doctor/analyze/cuda_codes.hpp"
#include "cudart_doctor/analyze/explain.hpp"
#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

constexpr int kLastCode = 999;
constexpr std::size_t kLongestWord = 64;  // Longer than any name; bounds the comparison.
constexpr std::size_t kMaxNear = 5;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& letter : out) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return out;
}

bool has_name(int code) {
  return !cuda_runtime_code_name(code).empty() || !cuda_driver_code_name(code).empty();
}

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

struct Near {
  std::size_t distance = 0;
  std::string word;
};

class NearWords {
 public:
  explicit NearWords(std::string_view word) : word_(lower(word).substr(0, kLongestWord)) {}

  void offer(std::string_view known) {
    if (known.empty()) return;
    const std::string folded = lower(known);
    std::size_t apart = distance(word_, folded);
    const bool contained = word_.size() >= 3 && folded.find(word_) != std::string::npos;
    if (contained) apart = std::min<std::size_t>(apart, 2);
    if (apart <= std::max<std::size_t>(1, std::min(word_.size(), folded.size()) / 3)) {
      found_.push_back({apart, std::string(known)});
    }
  }

  std::vector<std::string> take() {
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Near& a, const Near& b) { return a.distance < b.distance; });
    std::vector<std::string> words;
    for (Near& near : found_) {
      if (words.size() < kMaxNear) words.push_back(std::move(near.word));
    }
    return words;
  }

 private:
  std::string word_;
  std::vector<Near> found_;
};

std::vector<std::string> near_words(std::string_view word) {
  NearWords near(word);
  for (const CatalogueEntry& entry : catalogue()) {
    near.offer(entry.id);
    near.offer(entry.slug);
  }
  for (int code = 0; code <= kLastCode; ++code) {
    near.offer(cuda_runtime_code_name(code));
    near.offer(cuda_driver_code_name(code));
  }
  return near.take();
}

bool names(const Causes& causes, std::string_view finding) {
  return std::ranges::any_of(causes,
                             [finding](const Cause& cause) { return cause.finding == finding; });
}

}  // namespace

Explained look_up(std::string_view word) {
  Explained out;
  const std::string wanted = lower(word);
  for (const CatalogueEntry& entry : catalogue()) {
    if (lower(entry.id) == wanted || entry.slug == wanted) {
      out.finding = &entry;
      return out;
    }
  }
  const auto number = parse_unsigned(word, 10);
  for (int code = 0; code <= kLastCode; ++code) {
    const bool by_number = number && *number == static_cast<std::uint64_t>(code);
    const bool by_name = !wanted.empty() && (lower(cuda_runtime_code_name(code)) == wanted ||
                                             lower(cuda_driver_code_name(code)) == wanted);
    if ((by_number || by_name) && has_name(code)) {
      out.code = code;
      return out;
    }
  }
  out.near = near_words(word);
  return out;
}

std::vector<const Signature*> signatures_of(std::string_view finding) {
  std::vector<const Signature*> out;
  for (const Signature& signature : signatures()) {
    if (names(signature.causes, finding)) out.push_back(&signature);
  }
  return out;
}

std::vector<int> codes_of(std::string_view finding) {
  std::vector<int> out;
  for (const CodeEntry& entry : code_entries()) {
    if (names(entry.causes, finding)) out.push_back(entry.code);
  }
  return out;
}

}  // namespace cudart_doctor
