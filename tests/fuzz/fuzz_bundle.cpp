// Any bytes as a snapshot's two files (the JSON, a NUL, the text of maps): a clear error, or a
// snapshot that is written again as it was read.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "cudart_doctor/collect/bundle.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cudart_doctor;
  const std::string text(data, data + size);
  const std::size_t cut = std::min(text.find('\0'), text.size());
  const std::string maps = cut == text.size() ? "" : text.substr(cut + 1);
  const auto snapshot = snapshot_from_json(text.substr(0, cut), maps, "snapshot.json");
  if (!snapshot) {
    if (snapshot.error().message.empty()) std::abort();
    return 0;
  }
  const std::string json = snapshot_to_json(*snapshot);
  const auto again = snapshot_from_json(json, maps, "snapshot.json");
  if (!again || snapshot_to_json(*again) != json) std::abort();
  return 0;
}
