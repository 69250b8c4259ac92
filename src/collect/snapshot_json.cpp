// Snapshot to bundle JSON and back; pure.
#include <algorithm>

#include "cudart_doctor/base/text.hpp"
#include "cudart_doctor/collect/bundle.hpp"
#include "cudart_doctor/formats/proc_text.hpp"
#include "json_archive.hpp"

namespace cudart_doctor {
namespace {

constexpr int kMaxDepth = 32;

/// The document, or nothing where it is no JSON or nested beyond reason.
std::optional<nlohmann::json> parse_document(std::string_view text) {
  bool too_deep = false;
  const auto check = [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    too_deep = too_deep || depth > kMaxDepth;
    return !too_deep;
  };
  auto document = nlohmann::json::parse(text.begin(), text.end(), check, false);
  if (too_deep || document.is_discarded()) return std::nullopt;
  return document;
}

/// An index into another list that points past its end, or nothing.
std::optional<std::string> find_bad_index(const Snapshot& snapshot) {
  const auto rows = snapshot.maps.rows.size();
  for (std::size_t i = 0; i < snapshot.objects.size(); ++i) {
    const auto& object = snapshot.objects[i];
    if (std::any_of(object.rows.begin(), object.rows.end(),
                    [&](std::uint32_t row) { return row >= rows; })) {
      return "objects." + std::to_string(i) + ".rows names a line that maps does not have";
    }
    const auto* slots = object.slots.get();
    if (slots == nullptr) continue;
    if (std::any_of(slots->begin(), slots->end(), [&](const Slot& slot) {
          return slot.object && *slot.object >= snapshot.objects.size();
        })) {
      return "objects." + std::to_string(i) + ".slots names an object that is not there";
    }
  }
  const auto* namespaces = snapshot.link_map.get();
  if (namespaces == nullptr) return std::nullopt;
  for (const auto& link_namespace : *namespaces) {
    for (const auto& entry : link_namespace.entries) {
      if (entry.object && *entry.object >= snapshot.objects.size()) {
        return "link_map names an object that is not there";
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::string snapshot_to_json(const Snapshot& snapshot) {
  nlohmann::json document = JsonWriter::encode(snapshot);
  document["bundle_version"] = kBundleVersion;
  return document.dump() + "\n";
}

Result<Snapshot> snapshot_from_json(std::string_view json, std::string maps_text,
                                    std::string_view file) {
  const std::string shown = escape_foreign(file);
  const auto document = parse_document(json);
  if (!document || !document->is_object()) {
    return fail(ErrorKind::malformed, shown + ": not a JSON object");
  }
  const auto version = document->find("bundle_version");
  if (version == document->end() || !version->is_number_integer()) {
    return fail(ErrorKind::malformed, shown + ": bundle_version is missing");
  }
  if (*version != kBundleVersion) {
    return fail(ErrorKind::unsupported, shown + ": bundle_version is " + version->dump() +
                                            ", this program reads " +
                                            std::to_string(kBundleVersion));
  }
  Snapshot snapshot;
  JsonReader reader(*document);
  describe(reader, snapshot);
  if (reader.error()) return fail(ErrorKind::malformed, shown + ": " + *reader.error());
  auto maps = parse_maps(std::move(maps_text));
  if (!maps) return tl::unexpected(maps.error());
  snapshot.maps = std::move(*maps);
  if (auto bad = find_bad_index(snapshot)) {
    return fail(ErrorKind::malformed, shown + ": " + *bad);
  }
  return snapshot;
}

}  // namespace cudart_doctor
