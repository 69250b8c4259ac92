// What a difference says to people; the JSON keeps the words of the report's own JSON.
#pragma once

#include <string>
#include <vector>

#include "cudart_doctor/model/comparison.hpp"

namespace cudart_doctor {

/// What changed of one subject, printable: "was loaded, is only on disk now; takes /a -> /b". What
/// follows from another change of the same subject is not repeated. `changes` are of one subject
/// and one kind.
std::string words_of_changes(const std::vector<const Change*>& changes);

/// "worse, critical instead of warning"
std::string verdict_phrase(const ReportDigest& before, const ReportDigest& after);

/// Whether its headline is about a finding.
bool tells_of_more_than_info(const ReportDigest& digest);

/// What the rule `policy` takes there: a path; nullptr where that is not known.
const std::string* taken_by(const ReportDigest& digest, const std::string& policy);

}  // namespace cudart_doctor
