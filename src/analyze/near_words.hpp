// Which known words look like one that is not known.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace cudart_doctor {

class NearWords {
 public:
  explicit NearWords(std::string_view word);

  /// Remembers `known` where it looks like the word.
  void offer(std::string_view known);

  /// The nearest first, five at most.
  std::vector<std::string> take();

 private:
  struct Near {
    std::size_t distance = 0;
    std::string word;
  };
  std::string word_;
  std::vector<Near> found_;
};

/// Letters of ASCII in lower case.
std::string folded(std::string_view text);

}  // namespace cudart_doctor
