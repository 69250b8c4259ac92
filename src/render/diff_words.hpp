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

}  // namespace cudart_doctor
