#include "golden/recorded.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "cudart_doctor/collect/bundle.hpp"

namespace cudart_doctor::test {

Result<Snapshot> with_recording(const std::string& file, const std::string& folder) {
  Snapshot nobody;
  nobody.host.name = "gpu-17";
  auto snapshot = folder.empty() ? Result<Snapshot>(nobody) : read_bundle(folder);
  if (!snapshot) return snapshot;
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  auto document = nlohmann::json::parse(snapshot_to_json(*snapshot));
  document["recording"] = {{"known", nlohmann::json::parse(text.str(), nullptr, false)}};
  return snapshot_from_json(document.dump(), snapshot->maps.text, file);
}

}  // namespace cudart_doctor::test
