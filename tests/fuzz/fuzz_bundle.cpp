// Any bytes as a snapshot's two files (the JSON, a NUL, the text of maps): a clear error, or a
// snapshot that is written again as it was read.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "fuzz/bundle_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cudart_doctor;
  const auto input = read_bundle_input(data, size);
  if (!input) return 0;
  const std::string json = snapshot_to_json(input->snapshot);
  const auto again = snapshot_from_json(json, input->maps, "snapshot.json");
  if (!again || snapshot_to_json(*again) != json) std::abort();
  return 0;
}
