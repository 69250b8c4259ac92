// Many patterns against one line in one pass (Aho and Corasick): the time is linear in the line,
// whatever it holds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace cudart_doctor {

/// Where in a line a pattern fits.
struct PatternHit {
  std::size_t owner = 0;  ///< As given to add().
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Only hits that end behind `after` and at most at `until` count.
struct HitRange {
  std::size_t after = 0;
  std::size_t until = 0;
};

/// What one reader keeps of the line at hand, for each piece of each pattern.
struct MatchState {
  struct Progress {
    std::uint64_t line = 0;
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  std::vector<Progress> progress;
  std::uint64_t line = 0;
};

class TextMatcher {
 public:
  /// The pieces of a pattern may lie so many bytes apart.
  static constexpr std::size_t kGap = 512;

  TextMatcher();
  /// Adds a pattern (the language is that of Signature::patterns) of `owner`.
  void add(std::string_view pattern, std::size_t owner);
  /// To be called once after the last add().
  void build();
  /// A state for find(); one a reader.
  [[nodiscard]] MatchState make_state() const;
  /// The hit in `range` with the lowest owner.
  std::optional<PatternHit> find(std::string_view line, HitRange range, MatchState& state) const;

 private:
  /// One piece of one pattern ends at a node.
  struct Piece {
    std::uint32_t slot = 0;  ///< Index of its progress; the piece before it has the slot before.
    std::uint32_t owner = 0;
    std::uint16_t size = 0;
    bool first = false;
    bool last = false;
    bool word_begin = false;
    bool word_end = false;
  };
  void add_piece(std::string_view text, Piece piece);
  std::array<std::uint8_t, 256> class_of_{};  ///< Bytes that no pattern holds share class 0.
  std::uint32_t classes_ = 1;
  std::vector<std::vector<std::uint32_t>> children_;  ///< [node][class]; 0: none, until build().
  std::vector<std::vector<Piece>> pieces_;            ///< [node]
  std::vector<std::uint32_t> next_;                   ///< [node * classes_ + class]
  std::uint32_t slots_ = 0;
};

}  // namespace cudart_doctor
