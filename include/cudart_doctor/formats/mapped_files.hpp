// The files that a text of maps names, without a row for each mapping: for a glance at many
// processes. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "cudart_doctor/model/maps.hpp"

namespace cudart_doctor {

/// Lines of one file that follow each other. The views are of the text.
struct MappedFile {
  FileKey key;
  std::string_view range;  ///< "7f1a10000000-7f1a10200000" of the first line.
  std::string_view path;   ///< As maps shows it.
  bool executable = false;
};

/// In the order of the text. Lines without a file and odd lines are passed over.
std::vector<MappedFile> mapped_files(std::string_view maps);

}  // namespace cudart_doctor
