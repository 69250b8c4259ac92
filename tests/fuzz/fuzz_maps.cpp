// Any bytes as /proc/PID/maps: every accessor of the table stays inside the text.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "cudart_doctor/analyze/maps_view.hpp"
#include "cudart_doctor/formats/proc_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cudart_doctor;
  const auto maps = parse_maps(std::string(data, data + size));
  if (!maps) return 0;
  for (const Mapping& row : maps->rows) {
    if (row.text_begin + std::size_t{row.text_size} > maps->text.size()) std::abort();
    if (maps->path(row).size() > maps->line(row).size()) std::abort();
  }
  for (const PythonLine& line : python_lines_with(*maps, "cudart")) {
    if (line.row >= maps->rows.size()) std::abort();
  }
  return 0;
}
