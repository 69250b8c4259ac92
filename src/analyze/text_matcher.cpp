#include "text_matcher.hpp"

#include <algorithm>
#include <utility>

#include "cudart_doctor/base/text.hpp"

namespace cudart_doctor {
namespace {

std::uint8_t folded(char letter) {
  const auto byte = static_cast<std::uint8_t>(letter);
  return byte >= 'A' && byte <= 'Z' ? static_cast<std::uint8_t>(byte + 0x20) : byte;
}

bool is_word(char letter) {
  const std::uint8_t byte = folded(letter);
  return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '_';
}

}  // namespace

TextMatcher::TextMatcher() : children_(1), pieces_(1) {}

void TextMatcher::add(std::string_view pattern, std::size_t owner) {
  const auto parts = split(pattern, '*');
  for (std::size_t i = 0; i < parts.size(); ++i) {
    std::string_view text = parts[i];
    Piece piece{.slot = slots_++,
                .owner = static_cast<std::uint32_t>(owner),
                .first = i == 0,
                .last = i + 1 == parts.size(),
                .word_begin = text.starts_with('|'),
                .word_end = text.ends_with('|')};
    if (piece.word_begin) text.remove_prefix(1);
    if (piece.word_end) text.remove_suffix(1);
    piece.size = static_cast<std::uint16_t>(text.size());
    add_piece(text, piece);
  }
}

void TextMatcher::add_piece(std::string_view text, Piece piece) {
  std::uint32_t node = 0;
  for (const char letter : text) {
    std::uint8_t& letter_class = class_of_.at(folded(letter));
    if (letter_class == 0) letter_class = static_cast<std::uint8_t>(classes_++);
    auto& children = children_[node];
    if (children.size() <= letter_class) children.resize(letter_class + std::size_t{1});
    if (children[letter_class] == 0) {
      children[letter_class] = static_cast<std::uint32_t>(children_.size());
      node = children[letter_class];
      children_.emplace_back();
      pieces_.emplace_back();
    } else {
      node = children[letter_class];
    }
  }
  pieces_[node].push_back(piece);
}

void TextMatcher::build() {
  for (std::size_t letter = 'A'; letter <= 'Z'; ++letter) {
    class_of_.at(letter) = class_of_.at(letter + 0x20);
  }
  next_.assign(children_.size() * classes_, 0);
  std::vector<std::uint32_t> fallback(children_.size(), 0);
  std::vector<std::uint32_t> order{0};  // Breadth first: a fallback is shorter, so it is ready.
  for (std::size_t at = 0; at < order.size(); ++at) {
    const std::uint32_t node = order[at];
    auto& children = children_[node];
    children.resize(classes_);
    for (std::uint32_t letter = 0; letter < classes_; ++letter) {
      const std::uint32_t child = children[letter];
      const std::uint32_t otherwise =
          node == 0 ? 0 : next_[std::size_t{fallback[node]} * classes_ + letter];
      next_[std::size_t{node} * classes_ + letter] = child != 0 ? child : otherwise;
      if (child == 0) continue;
      fallback[child] = otherwise;
      order.push_back(child);
    }
    const auto& shorter = pieces_[fallback[node]];
    if (node != 0) pieces_[node].insert(pieces_[node].end(), shorter.begin(), shorter.end());
  }
  children_ = {};
}

MatchState TextMatcher::make_state() const {
  return {.progress = std::vector<MatchState::Progress>(slots_), .line = 0};
}

std::optional<PatternHit> TextMatcher::find(std::string_view line, HitRange range,
                                            MatchState& state) const {
  // Notes how far the piece's pattern got; the hit where the piece is its last one.
  const auto take = [&](const Piece& piece, std::size_t end) -> std::optional<PatternHit> {
    const std::size_t begin = end - piece.size;
    if (piece.word_begin && begin > 0 && is_word(line[begin - 1])) return std::nullopt;
    if (piece.word_end && end < line.size() && is_word(line[end])) return std::nullopt;
    std::size_t pattern_begin = begin;
    if (!piece.first) {
      const auto& before = state.progress[piece.slot - 1];
      const bool near =
          before.line == state.line && before.end <= begin && begin - before.end <= kGap;
      if (!near) return std::nullopt;
      pattern_begin = before.begin;
    }
    state.progress[piece.slot] = {state.line, pattern_begin, end};
    if (!piece.last) return std::nullopt;
    return PatternHit{piece.owner, pattern_begin, end};
  };
  ++state.line;
  std::optional<PatternHit> best;
  std::size_t node = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    node = next_[node * classes_ + class_of_.at(static_cast<std::uint8_t>(line[i]))];
    for (const Piece& piece : pieces_[node]) {
      const auto hit = take(piece, i + 1);
      if (!hit || hit->end <= range.after || hit->end > range.until) continue;
      if (!best || hit->owner < best->owner) best = hit;
    }
  }
  return best;
}

}  // namespace cudart_doctor
