// maps as the Python consumers see it: text lines, the path in a line, parts of a file name.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "cudart_doctor/model/maps.hpp"

namespace cudart_doctor {

/// What the kernel appends to the path of a file that has no name any more.
inline constexpr std::string_view kDeletedMark = " (deleted)";

/// One line as Python's text mode gives it, and the row that it comes from.
struct PythonLine {
  std::string_view text;
  std::uint32_t row = 0;
};

/// The lines that contain `word`, in file order. Text mode ends a line at CR too, and the kernel
/// writes a CR in a path as it is: such a row gives several lines.
std::vector<PythonLine> python_lines_with(const MapsTable& maps, std::string_view word);

/// Python's str.strip(): white space of Unicode, in UTF-8.
std::string_view python_strip(std::string_view text);

/// From the first '/' to the end, stripped; nothing where there is no '/'.
std::optional<std::string_view> line_path(std::string_view line);

/// The part of a file name before its last ".so"; empty where ".so" does not occur.
std::string_view stem_before_so(std::string_view base);

/// `path` without one deleted mark.
std::string_view cut_deleted_mark(std::string_view path);

}  // namespace cudart_doctor
