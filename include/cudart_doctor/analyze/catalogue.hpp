// The catalogue of findings: one row an id, the single source of their fixed texts.
#pragma once

#include <span>
#include <string_view>

#include "cudart_doctor/model/finding.hpp"

namespace cudart_doctor {

struct CatalogueEntry {
  std::string_view id;
  std::string_view slug;
  Owner owner = Owner::image;
  std::string_view severities;  ///< "warning; error if ..." for the documentation.
  std::string_view when;        ///< The condition, in one or two sentences.
  std::string_view meaning;     ///< What it means for the operator.
  std::string_view remedy;      ///< The general remedy.
};

/// Sorted by id.
std::span<const CatalogueEntry> catalogue();
/// nullptr when the id is unknown.
const CatalogueEntry* find_entry(std::string_view id);

}  // namespace cudart_doctor
