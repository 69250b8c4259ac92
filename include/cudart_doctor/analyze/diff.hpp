// What differs between reports, and which of them are alike. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cudart_doctor/model/comparison.hpp"

namespace cudart_doctor {

/// The words by which areas are named on the command line and in JSON, in the order of Area.
std::string_view name_of(Area area);

/// What is not to be compared.
struct IgnoredPart {
  Area area = Area::verdict;
  std::string key;  ///< A variable, a finding's id, a policy, a path; "" the whole area.
};
/// "order", "environment", "environment:CUDA_VISIBLE_DEVICES". Nothing where no area is named.
std::optional<IgnoredPart> parse_ignored(std::string_view text);

/// Whether there is anything in `digest` that `ignored` names.
bool is_in(const ReportDigest& digest, const IgnoredPart& ignored);
/// "environment:CUDA_VISIBLE_DEVICES": as parse_ignored() reads it.
std::string text_of(const IgnoredPart& ignored);

/// `digest` without the parts that are not to be compared.
ReportDigest without(ReportDigest digest, const std::vector<IgnoredPart>& ignored);

/// What changes from `first` to `second`, by area. Empty exactly where canonical_text() is equal.
std::vector<Change> differences(const ReportDigest& first, const ReportDigest& second);

/// Everything of `digest` that is compared, in a form in which equal reports are equal bytes.
std::string canonical_text(const ReportDigest& digest);

/// FNV-1a, 64 bits, in 16 hexadecimal digits: a label to compare by eye, nothing is decided by it.
std::string fingerprint_of(std::string_view text);

/// Groups the reports (two or more) and compares the groups.
Comparison compare(std::vector<ReportDigest> reports);

}  // namespace cudart_doctor
