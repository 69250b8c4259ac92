// Says at once where a text cannot hold any of many patterns, so that the matcher need not look
// there. It errs on one side only: a place that holds one is always named.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cudart_doctor {

class PatternFilter {
 public:
  /// A pattern is known by so many bytes in a row of one of its pieces.
  static constexpr std::size_t kWindow = 11;

  /// Adds a pattern (the language is that of Signature::patterns). One without a piece of kWindow
  /// bytes makes the filter useless, never wrong: each place is then named.
  void add(std::string_view pattern);
  /// To be called once after the last add().
  void build();
  /// The first place from `from` on that looks like a part of a pattern; npos: there is none.
  /// No pattern begins or goes on between `from` and the line of that place.
  [[nodiscard]] std::size_t find(std::string_view text, std::size_t from) const;

 private:
  using Pieces = std::vector<std::string>;
  void admit(std::string_view window);
  [[nodiscard]] unsigned places_at(std::string_view text, std::size_t at) const;
  [[nodiscard]] bool is_window(std::string_view text) const;

  std::vector<Pieces> patterns_;      ///< Until build().
  std::vector<std::string> windows_;  ///< In order.
  bool everywhere_ = false;
  /// By the hash of four bytes: bit i is set where a window has such bytes at i.
  std::array<std::uint8_t, std::size_t{1} << 15U> places_{};
};

}  // namespace cudart_doctor
