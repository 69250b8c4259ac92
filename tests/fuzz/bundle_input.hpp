// The input of the targets that read a snapshot: its two files, the JSON, a NUL, the text of maps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include "cudart_doctor/collect/bundle.hpp"

namespace cudart_doctor {

struct BundleInput {
  std::string maps;
  Snapshot snapshot;
};

/// Nothing where the files are refused, which must say why.
inline std::optional<BundleInput> read_bundle_input(const std::uint8_t* data, std::size_t size) {
  const std::string text(data, data + size);
  const std::size_t cut = std::min(text.find('\0'), text.size());
  std::string maps = cut == text.size() ? "" : text.substr(cut + 1);
  auto snapshot = snapshot_from_json(text.substr(0, cut), maps, "snapshot.json");
  if (snapshot) return BundleInput{std::move(maps), std::move(*snapshot)};
  if (snapshot.error().message.empty()) std::abort();
  return std::nullopt;
}

}  // namespace cudart_doctor
