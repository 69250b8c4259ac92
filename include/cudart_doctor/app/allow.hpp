// The allowances of a command line, those in files included.
#pragma once

#include <string>
#include <vector>

#include "cudart_doctor/analyze/allow.hpp"
#include "cudart_doctor/base/result.hpp"

namespace cudart_doctor {

/// No more of an allow-file is read.
inline constexpr std::size_t kMaxAllowFile = std::size_t{256} << 10U;

/// What the files of --allow-file allow, in their order. May block where a file does not answer.
/// Errors: usage: a file that cannot be read or is too long, a line that is no allowance.
Result<std::vector<Allowance>> read_allow_files(const std::vector<std::string>& paths);

}  // namespace cudart_doctor
