// Widths, wrapping and colour for a terminal, of 80 columns where nothing else is told. All of it
// works on printable text (the output of escape_foreign or printable), so that an escape such as
// \x1b is one unit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/render/render.hpp"

namespace cudart_doctor {

inline constexpr std::size_t kColumns = kMostColumns;
/// A line is never asked to hold less than this.
inline constexpr std::size_t kNarrowest = 12;

/// A sentence of the model made safe once more. Sentences embed foreign text already escaped, so
/// their backslashes stay single; anything that would steer a terminal is still escaped.
std::string printable(std::string_view sentence);

/// Columns that `text` takes: East Asian wide characters count two, combining marks none.
std::size_t display_width(std::string_view text);

/// `text` when it fits into `width` columns, else its begin with "..." at the end.
std::string cut_end(std::string_view text, std::size_t width);

/// `text` when it fits, else its begin and its end around "...".
std::string cut_middle(std::string_view text, std::size_t width);

/// A path in `width` columns: the last directories and the file name survive first (they tell what
/// it is), then the root (it tells whose it is).
std::string shorten_path(std::string_view path, std::size_t width);

/// A sentence with each long path in it shortened, so that what stands behind them has room.
std::string with_short_paths(std::string_view sentence);

/// `text` with blanks behind it up to `width` columns.
std::string pad(std::string_view text, std::size_t width);

enum class LongWords : std::uint8_t {
  shorten,  ///< A word wider than the line is shortened in the middle.
  keep,     ///< It stands whole on a line of its own, to be copied.
};

struct WrapLimits {
  std::size_t first = kColumns;  ///< Columns of the first line.
  std::size_t rest = kColumns;   ///< Columns of the others.
  std::size_t max_lines = 0;     ///< 0: no limit; the last line ends in "..." when text is left.
  LongWords long_words = LongWords::shorten;
};

/// `text` broken at blanks; at least one line.
std::vector<std::string> wrap(std::string_view text, const WrapLimits& limits);

enum class Tone : std::uint8_t { plain, good, notice, bad, grave };

/// `word` between ANSI SGR sequences; unchanged where colour is off or the tone plain.
std::string paint(std::string_view word, Tone tone, Color color);

}  // namespace cudart_doctor
